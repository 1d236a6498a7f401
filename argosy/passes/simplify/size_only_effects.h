// Effects that a step needs for sizes alone.
//
//   iterator ─► IteratorGetNext ─► images: [8, 28, 28] ─► Shape ─► fetched
//
// TensorFlow takes the next element in such a step, although 8, 28, 28 are known. Who puts another value in the place of
// a size asks here first: the step must not lose an effect. Draws of random numbers count, since later draws follow from
// them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "argosy/passes/simplify/known_values.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

class SizeOnlyEffects {
 public:
  // Is this input read, once sizes that are known have been replaced?
  using IsRead = std::function<bool(NodeId node, int input)>;

  // `order` is topological; `roots` are what a step runs. What they and the graph say at this time counts.
  SizeOnlyEffects(const Graph& graph, const std::vector<NodeId>& order, std::span<const NodeId> roots,
                  const IsRead& is_read);
  // Where `known` replaces sizes, and nodes that change nothing go.
  SizeOnlyEffects(const StepGraph& step, const std::vector<NodeId>& order, const KnownValues& known);

  // Would the step lose an effect, if nobody read the node? False for nodes that are added later.
  bool lost_without(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < lost_.size() && lost_[i] != 0;
  }

 private:
  std::vector<char> lost_;  // by node: such an effect is it, or comes before it; empty where the step has none
};

// Does the node give its first input as it is (OpDef::identity_when)?
bool changes_nothing(const Graph& graph, const Node& n);

}  // namespace argosy
