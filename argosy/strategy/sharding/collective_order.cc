#include "argosy/strategy/sharding/collective_order.h"

#include <algorithm>
#include <utility>

#include "argosy/strategy/analysis/dataflow_branches.h"
#include "argosy/strategy/analysis/dataflow_loops.h"

namespace argosy {

namespace {

// By node: the longest chain of collectives that it waits for. A loop starts when all its entering values are there. So
// its loop-carried values have waited for each of them, even if only the back edge, which has no place in the order,
// leads there.
Result<std::vector<int>> collectives_before(const Graph& graph, const std::vector<NodeId>& order, const Loops& loops,
                                            const std::vector<CollectivePoint>& collectives) {
  std::vector<int> depth(graph.size(), 0), entered(loops.around.size(), 0);
  const auto raise = [](int& to, int by) { return std::exchange(to, std::max(to, by)) < by; };
  for (bool again = true; again;) {
    again = false;
    for (const NodeId id : order) {
      const Node& n = graph.node(id);
      int& deepest = depth[id.index];
      for (const Endpoint e : n.inputs) {
        const bool next_turn = graph.node(e.node).op->closes_loop;  // which waits for its own sums
        if (!next_turn) raise(deepest, depth[e.node.index] + (is_among(collectives, e) ? 1 : 0));
      }
      for (const NodeId c : n.controls) raise(deepest, depth[c.index]);
      if (deepest > static_cast<int>(collectives.size())) {
        return cannot_combine(n, "what leaves a loop is summed over shards and enters it");
      }
      int& around = entered[loops.of[id.index]];
      if (n.op->flow == Flow::kEnter && raise(around, deepest)) again = true;
      raise(deepest, around);
    }
  }
  return depth;
}

}  // namespace

Status order_collectives(const Graph& graph, const std::vector<NodeId>& order,
                         const std::vector<ReplicaKind>& replica_kinds, std::vector<CollectivePoint>& collectives) {
  const Loops loops = find_loops(graph, order);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<int> depth, collectives_before(graph, order, loops, collectives));
  std::vector<int> position(graph.size(), 0);
  for (std::size_t at = 0; at < order.size(); ++at) position[order[at].index] = static_cast<int>(at);
  const Branches branches = find_branches(graph, order);
  for (CollectivePoint& c : collectives) {
    c.depth = depth[c.value.node.index];
    c.branch = branches.of[c.value.node.index];
    c.loop = loops.of[c.value.node.index];
    for (const Endpoint e : branches.predicates[c.branch]) {
      // A shard in the other branch would bring nothing, and the rest would wait for it.
      if (replica_kinds[e.node.index] == ReplicaKind::kSharded && !is_among(collectives, e)) {
        return cannot_combine(graph.node(c.value.node), "which branch runs depends on the batch");
      }
    }
  }
  std::stable_sort(collectives.begin(), collectives.end(), [&](const CollectivePoint& a, const CollectivePoint& b) {
    return position[a.value.node.index] < position[b.value.node.index];
  });
  return ok_status();
}

}  // namespace argosy
