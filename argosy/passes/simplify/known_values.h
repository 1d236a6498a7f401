// KnownValues: computes outputs of nodes that are known before the step runs.
//
//   Shape(x: [4,3])          12 integers of attributes and shapes (OpDef::known_ints)
//   Neg(Const)               the CPU's kernel, run on the constants
//   OnesLike(x: [2])         ones of that shape
//   _ShardWeight(batch: [8]) a count of rows
//
// Results above 1 MiB and work above 10^6 flops are not computed. Internal to argosy/passes/simplify.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class KnownValues {
 public:
  // The graph must outlive this.
  explicit KnownValues(const Graph& graph);

  // REQUIRES: called in topological order, and before compute() of the node and of its readers.
  // Returns false for a constant, which needs no compute().
  bool visit(NodeId id);
  // Records that the node was replaced by constants.
  void set_constant(NodeId id) { computed_[static_cast<std::size_t>(id.index)] = 0; }

  // True if the node may become a constant once its values are known. False for nodes with effects, control inputs or
  // control flow.
  bool may_be_constant(NodeId id) const;
  // True if may_be_constant(), and its values follow from shapes alone.
  bool follows_from_shapes(NodeId id) const;
  // Returns all outputs of the node; nullopt: not known. nullopt also if the kernel fails, since the step may never run
  // the node.
  std::optional<std::vector<Tensor>> compute(NodeId id) const;

 private:
  bool has_known_ints(NodeId id) const;
  bool has_row_count(NodeId id) const;
  bool has_few_of_shape(NodeId id) const;
  std::vector<Tensor> from_known_ints(NodeId id) const;
  std::optional<std::vector<Tensor>> from_row_count(NodeId id) const;
  std::optional<std::vector<Tensor>> from_shape(NodeId id) const;
  std::optional<std::vector<Tensor>> from_constants(NodeId id) const;

  const Graph& graph_;
  const OpDef* const constant_;  // null: the registry has none
  // By node: it is not a constant. Nodes added later have no entry. Reading it is faster than reading the nodes.
  std::vector<char> computed_;
};

}  // namespace argosy
