// Where a graph's updates need values of the global batch, and how they get them. Internal to strategy/.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"

namespace argosy {

// A value to be combined over shards before anyone uses it.
struct CollectivePoint {
  Endpoint value;
  PlacementKind kind = PlacementKind::
      kPartialSum;  // or kPartialMean: weighted by each shard's part of the batch; or kShard: rows are joined
  int depth = 0;    // longest chain of other collectives it has to wait for
  int branch = 0;   // collectives of one branch of a conditional have one number; 0: always computed
  int loop = 0;     // collectives of one loop have one number; 0: in none
};

bool is_among(const std::vector<CollectivePoint>& collectives, Endpoint e);

struct UpdateCollectivesRequest {
  const BatchAxes& axes;
  PlacementKind gradients =
      PlacementKind::kPartialSum;    // how those of the loss combine; kPartialMean: no seed weighs them
  const std::vector<NodeId>& seeds;  // where they start; empty: not found
  const std::vector<Endpoint>& losses;
};

// Adds collectives for all that the graph's updates take of the batch. Where rows are joined, or shards go on using what is
// reduced as their own, the update takes copies of what lies between, and the collective is at a new node: the graph
// grows then.
// UNIMPLEMENTED ARG-DP-003: an update of which it cannot be told what it takes of a batch in shards.
Status add_update_collectives(Graph& graph, const UpdateCollectivesRequest& request,
                              std::vector<CollectivePoint>& collectives);

Status cannot_combine(const Node& update, std::string_view why);

}  // namespace argosy
