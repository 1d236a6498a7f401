// Recomputes values on global inputs, next to the per-shard values that shards go on using. The nodes between the
// reduced values and the wanted value are copied. Internal to strategy/.
#pragma once

#include <map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// True if recompute() made this node of a graph whose own nodes are the first `original`.
bool is_recomputed(const Graph& graph, NodeId id, std::int32_t original);

// Adds nodes and collectives. Both are borrowed.
class GlobalRecompute {
 public:
  GlobalRecompute(Graph& graph, std::vector<CollectivePoint>& collectives) : graph_(graph), collectives_(collectives) {}

  // The global copy of e; e itself if it has none.
  Endpoint of(Endpoint e) const;
  bool has(Endpoint e) const { return copies_.contains(e); }
  // Adds a node that is reduced in place of e, unless e has a collective already.
  Status add_collective(Endpoint e, PlacementKind kind);
  // Copies the node. Inputs that have a global copy are read from it.
  Status recompute(NodeId id);

 private:
  Graph& graph_;
  std::vector<CollectivePoint>& collectives_;
  std::map<Endpoint, Endpoint> copies_;  // by the per-shard value
};

}  // namespace argosy
