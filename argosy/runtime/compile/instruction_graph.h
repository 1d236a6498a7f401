// From a placed graph to instructions and slots: makes kernels, resolves constants and handles, puts in copies between
// memories. The first half of compilation; order and memory come after (argosy/runtime/compile/compile.cc).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// What the compiler alone knows of a step's instructions; dropped when the step is made.
struct InstructionGraph {
  using Before = SmallVector<std::int32_t, 4>;
  // Instructions that take a slot as input (derefs included), in the order in which they were added.
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
  std::vector<std::int32_t> root;      // by slot: for handles, the slot of the first handle; else itself
  std::vector<const Node*> nodes;      // by instruction; null for copies and ends of loops
  std::vector<const OpDef*> ops;       // by instruction: those of the nodes
  Readers readers;                     // by slot
  std::vector<char> forwarded;         // by slot: a view of input 0's memory (of a Merge: of any input's)
  bool unusual = false;                // has control flow, or instructions that may block
};

Result<InstructionGraph> build_instructions(const StepGraph& graph, const DevicePlacement& placement,
                                            const KernelRegistry& kernels, Step& step);

// Per flat input or output: which argument of the OpDef it belongs to.
std::vector<int> flat_args(const std::vector<ArgDef>& args, const AttrMap& attrs);

}  // namespace argosy
