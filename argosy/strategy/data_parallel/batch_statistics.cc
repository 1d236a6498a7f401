#include "argosy/strategy/data_parallel/batch_statistics.h"

#include <algorithm>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

bool takes_rows_together(const Graph& graph, const Node& mean) {
  if (mean.inputs.size() < 2) return true;
  const PartialInts* const axes = graph.known_ints(mean.inputs[1]);
  const PartialShape& shape = graph.shape(mean.inputs[0]);
  if (axes == nullptr) return true;
  return std::any_of(axes->begin(), axes->end(), [&](const std::optional<std::int64_t>& axis) {
    if (!axis) return true;
    return *axis == 0 || (*axis < 0 && (!shape.has_rank() ? *axis != -1 : *axis + shape.rank() == 0));
  });
}

bool is_mean(const Node& n) { return n.op->name == "Mean"; }

// Mean ─► StopGradient ─► SquaredDifference ─► Mean: both means.
void find_moments(const Graph& graph, const Graph::Uses& uses, NodeId stop, std::vector<NodeId>& found) {
  const NodeId mean = graph.node(stop).inputs[0].node;
  if (!is_mean(graph.node(mean)) || !takes_rows_together(graph, graph.node(mean))) return;
  for (const Graph::Use& use : uses[stop.index]) {
    if (graph.node(use.node).op->name != "SquaredDifference") continue;
    for (const Graph::Use& next : uses[use.node.index]) {
      if (next.input != 0 || !is_mean(graph.node(next.node))) continue;
      found.push_back(mean);
      found.push_back(next.node);
    }
  }
}

}  // namespace

std::vector<NodeId> batch_statistics(const Graph& graph) {
  const auto uses = graph.consumers();
  std::vector<NodeId> found;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.op->batch_statistics && n.attrs.get_or("is_training", false)) found.push_back(NodeId{i});
    if (n.op->blocks_gradient && n.inputs.size() == 1) find_moments(graph, uses, NodeId{i}, found);
  }
  std::sort(found.begin(), found.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<NodeId> normalises_by_batch(const Graph& graph) {
  const std::vector<NodeId> found = batch_statistics(graph);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

LocalStatistics local_statistics(const Graph& graph, const std::vector<NodeId>& order,
                                 const std::vector<Endpoint>& losses) {
  const std::vector<NodeId> statistics = batch_statistics(graph);
  if (statistics.empty()) return {};
  LocalStatistics local{.of = std::vector<char>(static_cast<std::size_t>(graph.size()), 0), .gradients = {}};
  std::vector<NodeId> ends, updates;
  for (const Endpoint e : losses) ends.push_back(e.node);
  const std::vector<char> trained = on_gradient_paths(graph, order, ends);
  for (const NodeId id : statistics) {
    const bool fused = graph.node(id).op->batch_statistics;
    if (fused || trained[static_cast<std::size_t>(id.index)] != 0) local.of[static_cast<std::size_t>(id.index)] = 1;
  }
  const std::vector<char> forward = ancestors(graph, ends, false);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!writes_variable(graph, n)) continue;
    const auto variable = variable_behind(graph, n.inputs[0]);
    if (variable && forward[static_cast<std::size_t>(variable->index)] != 0) updates.push_back(NodeId{i});
  }
  local.gradients = ancestors(graph, updates, false);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (forward[i] != 0) local.gradients[i] = 0;
  }
  return local;
}

bool trains_through_global_values(const Graph& graph, const std::vector<NodeId>& order, const Assignment& assignment,
                                  const std::vector<Endpoint>& losses) {
  std::vector<NodeId> ends, takers;
  for (const Endpoint e : losses) ends.push_back(e.node);
  const std::vector<char> forward = ancestors(graph, ends, false), trained = on_gradient_paths(graph, order, ends);
  for (const Reshard& r : assignment.reshards) {
    if (!r.from.is_partial() || !r.to.is_replicate() || trained[static_cast<std::size_t>(r.value.node.index)] == 0)
      continue;
    for (const Graph::Use& use : r.users) {
      if (use.node != kFetch && forward[static_cast<std::size_t>(use.node.index)] != 0) takers.push_back(use.node);
    }
  }
  const std::vector<char> with = descendants(graph, takers);
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const auto& layouts = assignment.layouts[static_cast<std::size_t>(id.index)];
    return with[static_cast<std::size_t>(id.index)] != 0 && forward[static_cast<std::size_t>(id.index)] != 0 &&
           std::any_of(layouts.begin(), layouts.end(), [](const Layout& l) { return l[0].is_shard(); });
  });
}

}  // namespace argosy
