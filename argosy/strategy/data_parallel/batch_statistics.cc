#include "argosy/strategy/data_parallel/batch_statistics.h"

#include <algorithm>
#include <set>
#include <utility>

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

bool keeps_elements(const OpDef& op) {
  return op.elementwise || op.forwards || op.flow != Flow::kNone || op.broadcasts != Broadcasts::kNone;
}

// Flags by node: the ancestors of the losses. Other nodes belong to gradients. Empty: not known, every node counts.
using Forward = std::vector<char>;
bool lies_in(const Forward& forward, NodeId id) {
  return forward.empty() || forward[static_cast<std::size_t>(id.index)] != 0;
}

// Returns flags by node: not 0 for `from`, and for ancestors of the losses that elementwise ops compute from it.
std::vector<char> carried_on(const Graph& graph, const Graph::Uses& uses, const Forward& forward, NodeId from) {
  std::vector<char> reached(static_cast<std::size_t>(graph.size()), 0);
  std::vector<NodeId> open = {from};
  reached[static_cast<std::size_t>(from.index)] = 1;
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (const Graph::Use& use : uses[at.index]) {
      char& seen = reached[static_cast<std::size_t>(use.node.index)];
      if (use.input < 0 || seen != 0 || !lies_in(forward, use.node) || !keeps_elements(*graph.node(use.node).op))
        continue;
      seen = 1;
      open.push_back(use.node);
    }
  }
  return reached;
}

// True if an elementwise op combines the rows, whose mean is `mean`, with a function of `variance`, as in
// x * rsqrt(variance + epsilon). A loss that only compares deviations does not normalise.
bool normalises_rows(const Graph& graph, const Graph::Uses& uses, const Forward& forward, NodeId mean,
                     NodeId variance) {
  NodeId x = graph.node(mean).inputs[0].node;
  // Moments may be of a cast of what is normalised.
  while (keeps_elements(*graph.node(x).op) && graph.node(x).inputs.size() == 1) x = graph.node(x).inputs[0].node;
  const std::vector<char> rows = carried_on(graph, uses, forward, x), of = carried_on(graph, uses, forward, variance);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (of[static_cast<std::size_t>(i)] == 0 || !n.op->elementwise || n.inputs.size() < 2) continue;
    const auto has = [&](const std::vector<char>& kind, const std::vector<char>* but) {
      return std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) {
        const auto at = static_cast<std::size_t>(e.node.index);
        return kind[at] != 0 && (but == nullptr || (*but)[at] == 0);
      });
    };
    if (has(rows, nullptr) && has(of, &rows)) return true;
  }
  return false;
}

// Appends both means of the pattern Mean ─► StopGradient ─► SquaredDifference ─► Mean, if rows are normalised by them.
void find_moments(const Graph& graph, const Graph::Uses& uses, const Forward& forward, NodeId stop,
                  std::vector<NodeId>& found) {
  const NodeId mean = graph.node(stop).inputs[0].node;
  if (!is_mean(graph.node(mean)) || !takes_rows_together(graph, graph.node(mean))) return;
  for (const Graph::Use& use : uses[stop.index]) {
    if (graph.node(use.node).op->name != "SquaredDifference") continue;
    for (const Graph::Use& next : uses[use.node.index]) {
      if (next.input != 0 || !is_mean(graph.node(next.node))) continue;
      if (!normalises_rows(graph, uses, forward, mean, next.node)) continue;
      found.push_back(mean);
      found.push_back(next.node);
    }
  }
}

}  // namespace

std::vector<NodeId> batch_statistics(const Graph& graph, const std::vector<Endpoint>& losses) {
  const auto uses = graph.consumers();
  std::vector<NodeId> ends;
  for (const Endpoint e : losses) ends.push_back(e.node);
  const Forward forward = ends.empty() ? Forward() : ancestors(graph, ends, false);
  std::vector<NodeId> found;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.op->batch_statistics && n.attrs.get_or("is_training", false)) found.push_back(NodeId{i});
    if (n.op->blocks_gradient && n.inputs.size() == 1) find_moments(graph, uses, forward, NodeId{i}, found);
  }
  std::sort(found.begin(), found.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

LocalStatistics local_statistics(const Graph& graph, const std::vector<NodeId>& order,
                                 const std::vector<Endpoint>& losses) {
  const std::vector<NodeId> statistics = batch_statistics(graph, losses);
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

bool keep_own_statistics(const Graph& graph, const Assignment& assignment, LocalStatistics& local) {
  bool changed = false, any = false;
  for (std::size_t i = 0; i < local.of.size(); ++i) {
    if (local.of[i] == 0) continue;
    const bool fused = graph.node(NodeId{static_cast<std::int32_t>(i)}).op->batch_statistics;
    const auto& layouts = assignment.layouts[i];
    const bool own = std::any_of(layouts.begin(), layouts.end(),
                                 [&](const Layout& l) { return l[0].is_local() || (fused && l[0].is_shard()); });
    any = any || own;
    changed = changed || !own;
    if (!own) local.of[i] = 0;
  }
  if (!any) local = {};
  return changed;
}

bool combines_own_gradients(const Graph& graph, const std::vector<NodeId>& order, const Assignment& assignment,
                            const LocalStatistics& local) {
  const auto index = [](NodeId id) { return static_cast<std::size_t>(id.index); };
  std::set<std::pair<std::int32_t, int>> combined;  // uses of sums of gradients that were combined: node, input
  for (const Reshard& r : assignment.reshards) {
    if (!r.from.is_partial() || !r.to.is_replicate() || local.gradients[index(r.value.node)] == 0) continue;
    for (const Graph::Use& use : r.users) combined.emplace(use.node.index, use.input);
  }
  std::vector<char> global(static_cast<std::size_t>(graph.size()), 0);  // computed from such sums alone
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (local.gradients[index(id)] == 0) continue;
    bool takes = false, shards = false, own = false;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Placement& p = assignment.layout(n.inputs[i])[0];
      takes = takes || global[index(n.inputs[i].node)] != 0 || combined.contains({id.index, static_cast<int>(i)});
      shards = shards || p.is_shard();
      own = own || p.is_local();
    }
    if (!takes) continue;
    const auto& layouts = assignment.layouts[index(id)];
    const auto any = [&](auto is) { return std::any_of(layouts.begin(), layouts.end(), is); };
    if (own || (!shards && any([](const Layout& l) { return l[0].is_shard(); }))) return true;
    global[index(id)] =
        std::all_of(layouts.begin(), layouts.end(), [](const Layout& l) { return l[0].is_replicate(); });
  }
  return false;
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
