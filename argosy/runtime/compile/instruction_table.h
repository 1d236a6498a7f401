// InstructionTable: the arrays of a step and its InstructionGraph while instructions are added to them: slots,
// instructions, copies between memories, and who comes before whom.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class InstructionTable {
 public:
  // `nodes`: how many nodes the graph has. An instruction and a slot each, or about, is room for them.
  InstructionTable(Step& step, std::size_t nodes);

  // By instruction and by slot, as InstructionGraph says. Readers are there after finish().
  InstructionGraph& graph() { return graph_; }
  InstructionGraph finish();

  // A GPU's memory is its own; all CPU devices share space 0.
  int space_of(int device) const { return step_.device_set->device(device).spec().is_gpu() ? device : 0; }

  std::int32_t new_slot(DType dtype, PartialShape shape, int space, std::int32_t producer);
  // `node`: null for a copy.
  std::int32_t new_instruction(Instruction instruction, const Node* node);
  // A slot whose tensor is the same in every run.
  std::int32_t new_constant(Tensor value, int space);

  // Instruction `on`, unless it is -1 or the instruction itself, comes before `instruction`.
  void depend(std::int32_t instruction, std::int32_t on);
  // The instruction reads the slot, and comes after its producer.
  void reads(std::int32_t instruction, std::int32_t slot);

  // `slot`'s tensor in space `want`: made once, shared by all who want it there. The devices are those of its producer
  // and its reader.
  Result<std::int32_t> copied(std::int32_t slot, int want, int from_device, int to_device);
  // A copy of its own, on the receiving GPU's time line; towards the host, on the sending GPU's.
  Result<std::int32_t> add_copy(std::int32_t slot, int want, int from_device, int to_device);

 private:
  Step& step_;
  InstructionGraph graph_;
  std::vector<std::pair<std::int32_t, std::int32_t>> reads_;  // slot and instruction, in the order of reads()
  std::vector<std::int32_t> last_waiter_;                     // by instruction: the last that came to depend on it
  std::unordered_map<std::uint64_t, std::int32_t> copies_;    // by slot and space
};

}  // namespace argosy
