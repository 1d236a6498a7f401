#include "argosy/strategy/data_parallel/copies/coupled_turns.h"

#include <algorithm>

#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

enum Mark : char { kNothing = 0, kVariables = 1, kCombined = 2 };  // what a value is computed from

}  // namespace

std::vector<char> nodes_that_couple_turns(const Graph& graph, const ReplicationPlan& plan) {
  std::vector<char> coupled(static_cast<std::size_t>(graph.size()), 0);
  const auto order = graph.topological_order();
  if (!order.ok()) return coupled;
  std::vector<char> marks(coupled.size(), kNothing);
  for (const NodeId id : *order) {
    const Node& n = graph.node(id);
    char& mark = marks[id.index];
    if (is_variable(n)) mark |= kVariables;
    bool combined = false;
    for (const Endpoint e : n.inputs) {
      const char from = marks[e.node.index];
      mark |= from & kVariables;
      const bool point = is_among(plan.collectives, e) && (from & kVariables) != 0;
      combined = combined || point || (from & kCombined) != 0;
    }
    if (!combined) continue;
    // The shard's nodes after it are no news.
    if (plan.replica_kinds[id.index] == ReplicaKind::kSharded) {
      coupled[id.index] = 1;
    } else {
      mark |= kCombined;
    }
  }
  return coupled;
}

}  // namespace argosy
