// InstructionTable: builds the arrays of a Step and its InstructionGraph. It adds slots, instructions and copies
// between memories, and records which instruction must come before which. Internal to runtime/compile.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class InstructionTable {
 public:
  // `nodes`: the number of nodes of the graph. Reserves room for one instruction and one slot for each.
  InstructionTable(Step& step, std::size_t nodes);

  // The graph as built so far; finish() fills in InstructionGraph::readers and moves the graph out.
  InstructionGraph& graph() { return graph_; }
  InstructionGraph finish();

  // The memory space of a device: its own number for a GPU, 0 for every CPU device.
  int space_of(int device) const { return step_.device_set->device(device).spec().is_gpu() ? device : 0; }

  // Returns a new slot. `producer`: the instruction that writes it; -1: none (a constant or a feed).
  std::int32_t new_slot(DType dtype, PartialShape shape, int space, std::int32_t producer);
  // Appends an instruction and returns its number. `node`: null for a copy.
  std::int32_t new_instruction(Instruction instruction, const Node* node);
  // Returns a new slot whose tensor is the same in every run.
  std::int32_t new_constant(Tensor value, int space);

  // Records that instruction `on` comes before `instruction`. No effect if `on` is -1 or `instruction` itself.
  void depend(std::int32_t instruction, std::int32_t on);
  // Records that the instruction reads the slot, and so comes after its producer.
  void reads(std::int32_t instruction, std::int32_t slot);

  // Returns a slot that holds the value of `slot` in space `want`. Each value is copied to a space once, and all
  // readers there share the copy. A constant is copied now, any other value by an instruction. `from_device`: of the
  // producer; `to_device`: of the reader.
  Result<std::int32_t> copied(std::int32_t slot, int want, int from_device, int to_device);
  // Adds a copy instruction that is not shared, and returns the slot that it writes. It runs on the receiving GPU;
  // where the host receives, on the sending GPU.
  Result<std::int32_t> add_copy(std::int32_t slot, int want, int from_device, int to_device);

 private:
  Step& step_;
  InstructionGraph graph_;
  std::vector<std::pair<std::int32_t, std::int32_t>> reads_;  // slot and instruction, in the order of reads()
  std::vector<std::int32_t> last_waiter_;                     // by instruction: the last recorded as depending on it
  std::unordered_map<std::uint64_t, std::int32_t> copies_;    // by slot and space
};

}  // namespace argosy
