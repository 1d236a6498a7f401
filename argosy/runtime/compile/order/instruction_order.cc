#include "argosy/runtime/compile/order/instruction_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/ops/collective/net_attr.h"
#include "argosy/runtime/compile/order/schedule.h"
#include "argosy/runtime/compile/order/turn_marks.h"

namespace argosy {

namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Describes each instruction to the scheduler, after it has ordered readers of variables before writers.
class OrderFinder {
 public:
  OrderFinder(const Step& step, InstructionGraph& instructions, const std::vector<std::int32_t>& groups,
              const ControlFlowSchedule* flow)
      : step_(step), instructions_(instructions), groups_(groups), flow_(flow) {}

  Result<std::vector<std::int32_t>> run() {
    const Pairs written = written_variables();
    if (!written.empty()) ARGOSY_RETURN_IF_ERROR(put_readers_first(written));
    return order(false);
  }

 private:
  bool writes(std::size_t instruction) const {
    const OpDef* op = instructions_.ops[instruction];
    if (op == nullptr || op->forwards) return false;
    if (op->has_ref_input()) return true;
    return op->stateful && std::any_of(op->input_args.begin(), op->input_args.end(),
                                       [](const ArgDef& a) { return a.dtype == DType::kResource; });
  }

  // True if its outputs are unread or small, or if it frees more memory than it takes. False without inputs, unless it
  // ends lifetimes.
  bool light(std::size_t i) const {
    constexpr std::size_t kSmall = 256;
    if (ends_lifetimes(step_, instructions_, static_cast<std::int32_t>(i))) return true;
    const Instruction& instruction = step_.instructions[i];
    for (int o = 0; o < instruction.num_outputs; ++o) {
      const SlotSpec& slot = step_.slots[instruction.first_output + o];
      const bool small = slot.shape.is_full() && slot.bytes <= kSmall;
      if (!small && !instructions_.readers[instruction.first_output + o].empty()) return false;
    }
    return instruction.num_inputs > 0;
  }

  // True for a copy from the host's memory to a GPU, and for a GPU's kernel whose inputs and outputs are all in the
  // host's memory. In the middle of a capture region it would split that region.
  bool is_fed_copy(std::size_t i) const {
    const Instruction& instruction = step_.instructions[i];
    if (step_.device_set->device(instruction.device).launch_queue() == nullptr || instruction.num_inputs == 0)
      return false;
    const auto on_host = [&](std::int32_t slot) {
      return step_.slots[slot].space == 0 && step_.slots[slot].dtype != DType::kResource;
    };
    bool reads = true, writes = instruction.role == Role::kKernel && instruction.num_outputs > 0;
    for (int k = 0; k < instruction.num_inputs; ++k)
      reads = reads && on_host(step_.input_slots[instruction.first_input + k]);
    for (int o = 0; o < instruction.num_outputs; ++o) writes = writes && on_host(instruction.first_output + o);
    return reads && (instruction.role == Role::kCopy || writes);
  }

  // True for a small copy from a GPU that no instruction reads. Its source may stay alive until the end of the run.
  bool is_fetched_copy(std::size_t i) const {
    constexpr std::size_t kSmall = 64 << 10;
    const Instruction& instruction = step_.instructions[i];
    if (instruction.role != Role::kCopy || step_.device_set->device(instruction.device).launch_queue() == nullptr)
      return false;
    const SlotSpec& slot = step_.slots[instruction.first_output];
    return slot.space == 0 && slot.shape.is_full() && slot.bytes <= kSmall &&
           instructions_.readers[instruction.first_output].empty();
  }

  Result<std::vector<std::int32_t>> order(bool late_writers) const {
    std::vector<char> late(step_.instructions.size(), 0);
    for (std::size_t i = 0; late_writers && i < late.size(); ++i) late[i] = writes(i) ? 1 : 0;
    if (flow_ != nullptr) return flow_->sequence(late);
    std::vector<ScheduledInstruction> list;
    reserve_large(list, step_.instructions.size());
    list.resize(step_.instructions.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = {.device = step_.instructions[i].device,
                 .async = step_.instructions[i].async,
                 .light = light(i),
                 .late = late[i] != 0,
                 .first = is_fed_copy(i),
                 .last = is_fetched_copy(i),
                 .after = instructions_.after[i],
                 .group = groups_[i],
                 .turn = turn_of(instructions_, static_cast<std::int32_t>(i)).number,
                 .cross_task_number = groups_[i] != 0 ? cross_task_number(*instructions_.nodes[i]) : -1};
    }
    return schedule(list, step_.device_set->size());
  }

  // --- readers before writers ----------------------------------------------------------------------------------------

  // Returns (root of a variable's handle, instruction that writes the variable). Writers in loops are left out.
  Pairs written_variables() const {
    Pairs written;
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      if (!writes(i) || (flow_ != nullptr && flow_->home(static_cast<std::int32_t>(i)) != 0)) continue;
      const Instruction& instruction = step_.instructions[i];
      for (int k = 0; k < instruction.num_inputs; ++k) {
        const std::int32_t slot = step_.input_slots[instruction.first_input + k];
        if (step_.slots[slot].dtype != DType::kResource) continue;
        written.emplace_back(instructions_.root[slot], static_cast<std::int32_t>(i));
      }
    }
    return written;
  }

  // Fills `reads` with (root of a variable's handle, slot of the value) for each variable that the instruction reads:
  // by a dereference, or as an op that forwards the variable's memory.
  void find_reads(std::size_t i, Pairs& reads) const {
    reads.clear();
    for (const auto& [handle, value] : step_.meta[i].derefs) reads.emplace_back(instructions_.root[handle], value);
    const Instruction& instruction = step_.instructions[i];
    if (instructions_.ops[i] == nullptr || !instructions_.ops[i]->forwards) return;
    if (instruction.num_inputs == 0 || instruction.num_outputs == 0) return;
    const std::int32_t handle = step_.input_slots[instruction.first_input];
    if (step_.slots[handle].dtype == DType::kResource)
      reads.emplace_back(instructions_.root[handle], instruction.first_output);
  }

  // Adds all instructions that read a variable's memory through this slot or through a view made from it. With loops a
  // reader may be reached twice; it is added once.
  void collect_users(std::int32_t slot, std::vector<std::int32_t>& users) const {
    for (const std::int32_t reader : instructions_.readers[slot]) {
      if (instructions_.has_control_flow_or_blocking && std::find(users.begin(), users.end(), reader) != users.end())
        continue;
      users.push_back(reader);
      collect_users_of_views(reader, users);
    }
  }
  void collect_users_of_views(std::int32_t i, std::vector<std::int32_t>& users) const {
    const Instruction& instruction = step_.instructions[i];
    for (int o = 0; o < instruction.num_outputs; ++o) {
      if (instructions_.forwarded[instruction.first_output + o]) collect_users(instruction.first_output + o, users);
    }
  }

  Status put_readers_first(const Pairs& written) {
    const InstructionGraph::Readers writers(step_.slots.size(), written);
    ARGOSY_ASSIGN_OR_RETURN(const auto order_with_late_writers, order(true));
    std::vector<std::int32_t> position(step_.instructions.size());
    for (std::size_t p = 0; p < order_with_late_writers.size(); ++p) {
      const std::int32_t i = order_with_late_writers[p];
      if (i >= 0) position[i] = static_cast<std::int32_t>(p);
    }
    Pairs waits;  // (writer, reader before it)
    Pairs reads;
    std::vector<std::int32_t> users;
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      find_reads(i, reads);
      for (const auto& [root, value] : reads) {
        if (writers[root].empty()) continue;
        users.assign(1, static_cast<std::int32_t>(i));
        collect_users_of_views(static_cast<std::int32_t>(i), users);
        for (const std::int32_t w : writers[root]) {
          for (const std::int32_t u : users) {
            if (u != w && position[u] < position[w]) waits.emplace_back(w, u);
          }
        }
      }
    }
    add_waits(std::move(waits));
    return ok_status();
  }

  // Adds each pair to InstructionGraph::after once. Sorting keeps that fast where a variable has many readers.
  void add_waits(Pairs waits) {
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    for (auto first = waits.begin(); first != waits.end();) {
      InstructionGraph::Before& after = instructions_.after[first->first];
      std::vector<std::int32_t> known = after;
      std::sort(known.begin(), known.end());
      const auto last = std::find_if(first, waits.end(), [&](const auto& wait) { return wait.first != first->first; });
      for (; first != last; ++first) {
        if (!std::binary_search(known.begin(), known.end(), first->second)) after.push_back(first->second);
      }
    }
  }

  const Step& step_;
  InstructionGraph& instructions_;
  const std::vector<std::int32_t>& groups_;
  const ControlFlowSchedule* const flow_;
};

}  // namespace

std::vector<std::int32_t> collective_groups(const InstructionGraph& instructions) {
  std::vector<std::int32_t> groups(instructions.ops.size(), 0);
  std::map<std::string, std::int32_t> numbers = {{"", 0}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (instructions.ops[i] == nullptr || !instructions.ops[i]->collective) continue;
    std::string group = instructions.nodes[i]->attrs.get_or<std::string>("group", "");
    groups[i] = numbers.try_emplace(std::move(group), static_cast<std::int32_t>(numbers.size())).first->second;
  }
  return groups;
}

Result<std::vector<std::int32_t>> find_order(const Step& step, InstructionGraph& instructions,
                                             const std::vector<std::int32_t>& groups, const ControlFlowSchedule* flow) {
  return OrderFinder(step, instructions, groups, flow).run();
}

}  // namespace argosy
