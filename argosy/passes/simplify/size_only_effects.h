// SizeOnlyEffects: nodes with effects that a step reaches only through values that are read for their sizes.
//
//   iterator ─► IteratorGetNext ─► images: [8, 28, 28] ─► Shape ─► fetched
//
// In such a step TensorFlow takes the next element, although 8, 28, 28 are known. A pass that replaces a size by a
// constant asks this class first, since the step must not lose the effect. Draws of random numbers are effects: they
// change later draws.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "argosy/passes/simplify/known_values.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

class SizeOnlyEffects {
 public:
  // True if this input is still read after known sizes have been replaced.
  using IsRead = std::function<bool(NodeId node, int input)>;

  // `order` is topological; `roots` are the nodes that a step fetches or targets. Later changes are not seen.
  SizeOnlyEffects(const Graph& graph, const std::vector<NodeId>& order, std::span<const NodeId> roots,
                  const IsRead& is_read);
  // For a step in which `known` replaces sizes, and in which nodes that return their input unchanged are bypassed.
  SizeOnlyEffects(const StepGraph& step, const std::vector<NodeId>& order, const KnownValues& known);

  // True if the step would lose an effect if nothing read the node. False for nodes added later.
  bool lost_without(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < lost_.size() && lost_[i] != 0;
  }

 private:
  std::vector<char> lost_;  // by node: it has, or depends on, such an effect; empty: the step has none
};

// True if the node returns its first input unchanged (OpDef::identity_when).
bool changes_nothing(const Graph& graph, const Node& n);

}  // namespace argosy
