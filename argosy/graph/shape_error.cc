#include "argosy/graph/shape_error.h"

#include <utility>

namespace argosy {

bool is_behind_switch(const Graph& graph, NodeId id) {
  std::vector<char> seen(static_cast<std::size_t>(graph.size()), 0);
  std::vector<NodeId> open = {id};
  const auto see = [&](NodeId from) {
    if (!std::exchange(seen[static_cast<std::size_t>(from.index)], 1)) open.push_back(from);
  };
  while (!open.empty()) {
    const Node& n = graph.node(open.back());
    open.pop_back();
    if (n.op->flow == Flow::kSwitch) return true;
    for (const Endpoint e : n.inputs) see(e.node);
    for (const NodeId c : n.controls) see(c);
  }
  return false;
}

namespace {
AttrMap attributes_of(const Graph& graph, const Node& n, const Status& error) {
  std::vector<DType> reads;
  for (const Endpoint e : n.inputs) reads.push_back(graph.dtype(e));
  return {{"Tin", std::move(reads)},    {"Tout", std::vector<DType>(n.output_dtypes.begin(), n.output_dtypes.end())},
          {"op", n.op->name},           {"code", static_cast<std::int64_t>(error.code())},
          {"message", error.message()}, {"id", std::string(error.id())},
          {"hint", error.hint()}};
}

}  // namespace

Status defer_shape_error(Graph& graph, NodeId id, Status error, bool in_function) {
  constexpr std::string_view kOp = "_ShapeError";
  const Node& n = graph.node(id);
  // Bugs of ours and want of memory are no business of a branch. Flow and callers mean more than their outputs.
  // What runs in every step tells its error when the step is compiled (argosy/runtime/compile/storage/step_checks.h).
  const bool of_shapes = error.code() != Code::kInternal && error.code() != Code::kResourceExhausted;
  if (!of_shapes || n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing) return error;
  if (graph.ops().find(kOp) == nullptr || !(in_function || is_behind_switch(graph, id))) return error;
  const SmallVector<Endpoint, 2> inputs = n.inputs;
  const SmallVector<NodeId, 2> controls = n.controls;
  const auto outputs = static_cast<std::int32_t>(n.output_dtypes.size());
  ARGOSY_RETURN_IF_ERROR(graph.replace_with(id, kOp, inputs, controls, attributes_of(graph, n, error)));
  for (std::int32_t k = 0; k < outputs; ++k) graph.refine_shape({id, k}, PartialShape::unknown());
  return ok_status();
}

}  // namespace argosy
