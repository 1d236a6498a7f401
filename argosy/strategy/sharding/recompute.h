// Global values next to those that shards go on using as their own: what lies between reduced values and a value
// is computed once more, from these. Internal to strategy/.
#pragma once

#include <map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Adds nodes and collectives. Both are borrowed.
class GlobalRecompute {
 public:
  GlobalRecompute(Graph& graph, std::vector<CollectivePoint>& collectives) : graph_(graph), collectives_(collectives) {}

  // The copy of e; e itself where there is none.
  Endpoint of(Endpoint e) const;
  bool has(Endpoint e) const { return copies_.contains(e); }
  // A node to reduce in place of e, unless e has a collective already.
  Status add_collective(Endpoint e, PlacementKind kind);
  // The node, from copies of its inputs as far as there are some.
  Status recompute(NodeId id);

 private:
  Graph& graph_;
  std::vector<CollectivePoint>& collectives_;
  std::map<Endpoint, Endpoint> copies_;  // by what shards have
};

}  // namespace argosy
