// Adds nodes that compute sizes from the batch size, such as "number of examples times three", also inside loops.
// Internal to strategy/.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/batch_size/reinfer_batch.h"

namespace argosy {

class DynamicSizeNodes {
 public:
  // `input`: a batch input. All are borrowed.
  DynamicSizeNodes(Graph& graph, BatchReinference& reinference, std::int64_t batch, NodeId input)
      : graph_(graph), reinference_(reinference), batch_(batch), input_(input) {}

  // Returns a value from which `node` can read the number of examples. In a loop it is another input of `taker` that is
  // not computed from `node`. ARG-DP-010: there is none.
  Result<Endpoint> examples_for(NodeId node, NodeId taker) const;
  // The number of examples times `each`.
  Value count(Endpoint examples, DType dtype, std::int64_t each);
  // The integers `values`, with the one at `axis` (a multiple of the batch size) scaled to the number of examples.
  Value sizes(Endpoint examples, DType dtype, const std::vector<std::int64_t>& values, int axis);
  Value integers(DType dtype, const std::vector<std::int64_t>& values);

  // While it lives, new nodes are named after the node that they serve.
  Graph::Scope scope_for(NodeId id) { return graph_.name_scope(str_cat(graph_.node(id).name, "/dynamic_batch")); }
  // Infers the new nodes (BatchReinference::infer_added) and returns the endpoint of v.
  Result<Endpoint> added(Value v, NodeId anchor = {});

 private:
  bool comes_from(NodeId value, NodeId from) const;

  Graph& graph_;
  BatchReinference& reinference_;
  const std::int64_t batch_;
  const NodeId input_;
};

}  // namespace argosy
