// Builds instructions and slots from a placed graph: makes kernels, resolves constants and handles, inserts copies
// between memories. This is the first half of compilation; order and memory come after
// (argosy/runtime/compile/compile.cc).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// What only the compiler needs to know of a step's instructions; dropped when the step is made.
struct InstructionGraph {
  using Before = SmallVector<std::int32_t, 4>;
  // By slot: the instructions that take it as input (derefs included), in the order in which they were added.
  class Readers {
   public:
    Readers() = default;
    Readers(std::size_t slots, std::span<const std::pair<std::int32_t, std::int32_t>> slots_and_instructions);
    std::span<const std::int32_t> operator[](std::int32_t slot) const {
      return std::span(instructions_).subspan(first_[slot], first_[slot + 1] - first_[slot]);
    }

   private:
    std::vector<std::uint32_t> first_;  // by slot, and the end
    std::vector<std::int32_t> instructions_;
  };

  std::vector<Before> after;           // by instruction: what must come before it
  std::vector<std::int32_t> producer;  // by slot: the instruction that writes it; -1: constant or fed
  std::vector<std::int32_t> root;      // by slot: of a forwarded handle, the slot of the original; else itself
  std::vector<const Node*> nodes;      // by instruction; null for copies and ends of loops
  std::vector<const OpDef*> ops;       // by instruction: those of the nodes
  Readers readers;                     // by slot
  std::vector<char> forwarded;         // by slot: a view of input 0's memory (of a Merge: of any input's)
  bool has_control_flow_or_blocking = false;  // has control flow, or instructions that may block
};

// Fills in the arrays of `step`, and returns the graph of its instructions. Where a node cannot become an instruction,
// the error names it. `graph` must outlive `step`, which has views into it.
Result<InstructionGraph> build_instructions(const StepGraph& graph, const DevicePlacement& placement,
                                            const KernelRegistry& kernels, Step& step);

// Returns, by flat input or output, the index of the argument of the OpDef that it belongs to.
std::vector<int> flat_args(const std::vector<ArgDef>& args, const AttrMap& attrs);

}  // namespace argosy
