#include "argosy/runtime/compile/instruction_table.h"

#include <algorithm>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/runtime/compile/storage/beyond_memory.h"

namespace argosy {

namespace {

// Longer lists of predecessors are not searched for duplicates, which are harmless.
constexpr std::size_t kMostCompared = 32;

}  // namespace

InstructionTable::InstructionTable(Step& step, std::size_t nodes) : step_(step) {
  reserve_large(step_.instructions, nodes);
  reserve_large(step_.meta, nodes);
  reserve_large(step_.info.nodes, nodes);
  reserve_large(step_.kernels, nodes);
  reserve_large(step_.slots, nodes);
  reserve_large(graph_.after, nodes);
  reserve_large(graph_.nodes, nodes);
  reserve_large(graph_.ops, nodes);
  reserve_large(graph_.producer, nodes);
  reserve_large(graph_.root, nodes);
  reserve_large(graph_.forwarded, nodes);
  reserve_large(reads_, 2 * nodes);
}

InstructionGraph InstructionTable::finish() {
  graph_.readers = InstructionGraph::Readers(step_.slots.size(), reads_);
  return std::move(graph_);
}

std::int32_t InstructionTable::new_slot(DType dtype, PartialShape shape, int space, std::int32_t producer) {
  const auto slot = static_cast<std::int32_t>(step_.slots.size());
  SlotSpec spec{.dtype = dtype, .shape = std::move(shape), .space = space};
  const std::int64_t elements = spec.shape.elements();
  if (elements >= 0) spec.bytes = bounded_bytes(elements, dtype);
  step_.slots.push_back(std::move(spec));
  graph_.producer.push_back(producer);
  graph_.root.push_back(slot);
  graph_.forwarded.push_back(0);
  return slot;
}

std::int32_t InstructionTable::new_instruction(Instruction instruction, const Node* node) {
  const auto index = static_cast<std::int32_t>(step_.instructions.size());
  step_.instructions.push_back(instruction);
  step_.meta.emplace_back();
  graph_.after.emplace_back();
  graph_.nodes.push_back(node);
  graph_.ops.push_back(node != nullptr ? node->op : nullptr);
  return index;
}

std::int32_t InstructionTable::new_constant(Tensor value, int space) {
  const std::int32_t slot = new_slot(value.dtype(), value.shape(), space, -1);
  step_.constants.emplace_back(slot, std::move(value));
  return slot;
}

// Drops duplicates where that is cheap: a group node may depend on any number of nodes, so long lists are not searched.
void InstructionTable::depend(std::int32_t instruction, std::int32_t on) {
  if (on < 0 || on == instruction) return;
  InstructionGraph::Before& after = graph_.after[instruction];
  if (last_waiter_.size() < step_.instructions.size()) last_waiter_.resize(step_.instructions.capacity(), -1);
  if (std::exchange(last_waiter_[on], instruction) == instruction) return;
  if (after.size() > kMostCompared || std::find(after.begin(), after.end(), on) == after.end()) after.push_back(on);
}

void InstructionTable::reads(std::int32_t instruction, std::int32_t slot) {
  reads_.emplace_back(slot, instruction);
  depend(instruction, graph_.producer[slot]);
}

Result<std::int32_t> InstructionTable::copied(std::int32_t slot, int want, int from_device, int to_device) {
  const std::uint64_t key = (static_cast<std::uint64_t>(slot) << 16) | static_cast<std::uint64_t>(want);
  if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
  const auto constant =
      std::find_if(step_.constants.begin(), step_.constants.end(), [&](const auto& c) { return c.first == slot; });
  if (constant != step_.constants.end()) {
    const Tensor value = constant->second;
    ARGOSY_ASSIGN_OR_RETURN(Tensor there, step_.device_set->constant_on(want, value));
    step_.info.forecast[want].constant_bytes += value.bytes();
    const std::int32_t copy = new_slot(value.dtype(), value.shape(), want, -1);
    step_.constants.emplace_back(copy, std::move(there));
    copies_[key] = copy;
    return copy;
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int32_t copy, add_copy(slot, want, from_device, to_device));
  copies_[key] = copy;
  return copy;
}

Result<std::int32_t> InstructionTable::add_copy(std::int32_t slot, int want, int from_device, int to_device) {
  const int where = want > 0 ? to_device : from_device;
  const SlotSpec from = step_.slots[slot];
  Instruction instruction{.first_input = static_cast<std::int32_t>(step_.input_slots.size()),
                          .first_dtype = static_cast<std::int32_t>(step_.output_dtypes.size()),
                          .node = static_cast<std::int32_t>(step_.info.nodes.size()),
                          .num_inputs = 1,
                          .num_outputs = 1,
                          .device = static_cast<std::int16_t>(where),
                          .role = Role::kCopy};
  const std::int32_t by = graph_.producer[slot];
  step_.info.nodes.push_back(
      {.name = by >= 0 ? step_.info.nodes[step_.instructions[by].node].name : "feed", .op = "_Copy"});
  step_.input_slots.push_back(slot);
  step_.output_dtypes.push_back(from.dtype);
  const std::int32_t index = new_instruction(instruction, nullptr);
  const std::int32_t copy = new_slot(from.dtype, from.shape, want, index);
  step_.instructions[index].first_output = copy;
  reads(index, slot);
  return copy;
}

}  // namespace argosy
