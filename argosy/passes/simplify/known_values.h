// KnownValues: the values that a node is known to give before the step runs.
//
//   Shape(x: [4,3])          12 integers of attributes and shapes (OpDef::known_ints)
//   Neg(Const)               the reference kernel, run on the constants
//   OnesLike(x: [2])         ones of that shape
//   _ShardWeight(batch: [8]) a count of rows
//
// Results above 1 MiB and work above 10^6 flops are not computed. Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class KnownValues {
 public:
  // The graph must outlive this.
  explicit KnownValues(const Graph& graph);

  // The caller visits the nodes in order. visit() comes before compute() of the node and of those that read it.
  // Returns false for a constant, which needs no compute().
  bool visit(NodeId id);
  // The node was replaced: those that read its values read constants from now on.
  void set_constant(NodeId id) { computed_[static_cast<std::size_t>(id.index)] = 0; }

  // May it become a constant, if its values are known? Not where it has effects, waits or steers.
  bool may_be_constant(NodeId id) const;
  // Does it so become one by shapes alone, whatever its inputs hold?
  bool follows_from_shapes(NodeId id) const;
  // All outputs of the node, or nothing. An error of the kernel gives nothing: the step may never run the node.
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
  // By node, none of those added later: surely no constant. Read in place of the nodes, which lie far apart.
  std::vector<char> computed_;
};

}  // namespace argosy
