#include "argosy/strategy/analysis/clone_and_reinfer.h"

#include <map>

namespace argosy {

namespace {

// By Merge: the shape of a loop-carried value that does not keep its entering shape. Sizes that change are open.
using Carried = std::map<NodeId, PartialShape>;

Result<ReinferredGraph> clone_and_reinfer_once(const Graph& graph, const TensorArrays& arrays,
                                               const std::vector<NodeId>& order, const Change& change,
                                               const Carried& carried) {
  ReinferredGraph r{Graph(graph.ops()), std::vector<NodeId>(graph.size())};
  for (const auto& [name, function] : graph.functions()) r.graph.add_function(function);
  for (const NodeId id : order) {
    NodeSpec spec =
        copy_spec(graph, id, arrays, r.graph, [&](NodeId from) { return r.of[static_cast<std::size_t>(from.index)]; });
    if (const auto known = carried.find(id); known != carried.end()) spec.shapes[0] = known->second;
    ARGOSY_RETURN_IF_ERROR(change(id, spec));
    const Node& n = graph.node(id);
    auto added = r.graph.add_node(std::move(spec));
    if (!added.ok()) return std::move(added).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    r.of[id.index] = *added;
  }
  return r;
}

// False: every loop-carried value keeps its entering shape, as far as that is known now.
bool learn_carried(const Graph& graph, const std::vector<NodeId>& order, const ReinferredGraph& r, Carried& carried) {
  bool anything = false;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (n.op->flow != Flow::kMerge) continue;
    for (const Endpoint e : n.inputs) {
      if (graph.node(e.node).op->flow != Flow::kNextIteration) continue;
      const PartialShape &now = r.graph.shape({r.of[id.index], 0}),
                         &next = r.graph.shape({r.of[e.node.index], e.index});
      if (now == next || !now.has_rank()) continue;
      PartialShape either = PartialShape::unknown();
      if (next.has_rank() && next.rank() == now.rank()) {
        PartialShape::Sizes sizes = now.sizes();
        for (int i = 0; i < now.rank(); ++i) {
          if (next[i] != now[i]) sizes[static_cast<std::size_t>(i)] = PartialShape::kUnknown;
        }
        either = PartialShape(std::move(sizes));
      }
      if (either == now) continue;
      carried.insert_or_assign(id, either);
      anything = true;
    }
  }
  return anything;
}

}  // namespace

NodeSpec copy_spec(const Graph& graph, NodeId id, const TensorArrays& arrays, const Graph& copies,
                   const CopyOf& copy_of) {
  const Node& n = graph.node(id);
  NodeSpec spec{.name = n.name, .op = n.op->name, .attrs = n.attributes()};
  if (const auto same = arrays.forwarded(n); same && copy_of(same->node).index >= 0) {
    return {.name = n.name,
            .op = "Identity",
            .inputs = {{copy_of(same->node), same->index}},
            .attrs = {{"T", n.output_dtypes[0]}}};
  }
  for (const Endpoint e : n.inputs) {
    if (const NodeId from = copy_of(e.node); from.index >= 0) spec.inputs.push_back({from, e.index});
  }
  if (spec.inputs.size() < n.inputs.size() && n.op->flow == Flow::kMerge && !spec.inputs.empty()) {
    spec.shapes = {copies.shape(spec.inputs[0]), PartialShape::scalar()};
  }
  const auto shape_of = [&](Endpoint e) {
    const NodeId from = copy_of(e.node);
    return from.index >= 0 ? &copies.shape({from, e.index}) : nullptr;
  };
  if (auto taken = arrays.read_shape(n, shape_of)) spec.shapes = {*std::move(taken)};
  return spec;
}

Result<ReinferredGraph> clone_and_reinfer(const Graph& graph, const TensorArrays& arrays,
                                          const std::vector<NodeId>& order, const Change& change) {
  Carried carried;
  for (;;) {
    ARGOSY_ASSIGN_OR_RETURN(ReinferredGraph r, clone_and_reinfer_once(graph, arrays, order, change, carried));
    if (!learn_carried(graph, order, r, carried)) return r;
  }
}

}  // namespace argosy
