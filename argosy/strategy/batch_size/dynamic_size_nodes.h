// Sizes that follow the batch, as nodes of the graph: "as many as there are examples, times three", wherever they are
// needed, in loops as well. Internal to strategy/.
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

  // A value whose axis can be asked for how many examples there are, by `node`: in its loop, what `taker` has beside it
  // and what is not computed from it. ARG-DP-010 where there is none.
  Result<Endpoint> examples_for(NodeId node, NodeId taker) const;
  // How many examples there are, `each` times.
  Value count(Endpoint examples, DType dtype, std::int64_t each);
  // These integers, that of `axis` (some times the batch) as often as there are examples.
  Value sizes(Endpoint examples, DType dtype, const std::vector<std::int64_t>& values, int axis);
  Value integers(DType dtype, const std::vector<std::int64_t>& values);

  // Nodes made under it are named after the one they are for.
  Graph::Scope scope_for(NodeId id) { return graph_.name_scope(str_cat(graph_.node(id).name, "/dynamic_batch")); }
  // What was made is inferred (BatchReinference::infer_added).
  Result<Endpoint> added(Value v, NodeId anchor = {});

 private:
  bool comes_from(NodeId value, NodeId from) const;

  Graph& graph_;
  BatchReinference& reinference_;
  const std::int64_t batch_;
  const NodeId input_;
};

}  // namespace argosy
