// From a placed graph to items and slots: kernels are made, constants and handles resolved, copies between memories put
// in. The first half of compilation; order and memory come after (argosy/runtime/compile.cc).
#pragma once

#include <unordered_map>
#include <vector>

#include "argosy/passes/extract.h"
#include "argosy/runtime/step.h"

namespace argosy {

// What compilation knows beside the Step it fills in.
struct ItemGraph {
  std::vector<std::vector<std::int32_t>> after;    // by item: what must come before it
  std::vector<std::int32_t> producer;              // by slot: the item that writes it; -1: preset or fed
  std::vector<std::int32_t> root;                  // by slot: for handles, the slot of the first handle; else itself
  std::vector<const OpDef*> ops;                   // by item; null for copies
  std::vector<std::vector<std::int32_t>> readers;  // by slot: items that take it as input (derefs included)
  std::vector<char> forwarded;                     // by slot: a view of input 0's memory (of a Merge: of any input's)
  bool unusual = false;                            // has control flow, or items that may block
};

Result<ItemGraph> build_items(const StepGraph& graph, const std::vector<int>& devices, const KernelRegistry& kernels,
                              Step& step);

// Per flat input or output: which argument of the OpDef it belongs to.
std::vector<int> flat_args(const std::vector<ArgDef>& args, const AttrMap& attrs);

}  // namespace argosy
