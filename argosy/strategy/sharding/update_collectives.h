// Finds where updates need global values, and adds the collectives that make them. Internal to strategy/.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"

namespace argosy {

// A collective point: a value that is combined over shards before any use.
struct CollectivePoint {
  Endpoint value;
  // kPartialSum: added. kPartialMean: weighted by the shard's size. kShard: rows are joined.
  PlacementKind kind = PlacementKind::kPartialSum;
  int depth = 0;   // longest chain of other collectives that it waits for
  int branch = 0;  // equal for collectives of one branch of a conditional; 0: runs in every step
  int loop = 0;    // equal for collectives of one loop; 0: in none
};

bool is_among(const std::vector<CollectivePoint>& collectives, Endpoint e);

struct UpdateCollectivesRequest {
  const BatchAxes& axes;
  // How the gradients combine. kPartialMean: no seed carries the shard's weight.
  PlacementKind gradients = PlacementKind::kPartialSum;
  const std::vector<NodeId>& seeds;  // where the losses' gradients start; empty: not found
  const std::vector<Endpoint>& losses;
  std::span<const Endpoint> given = {};  // gradients that the caller knows
};

// Adds collectives for every batch-dependent input of an update. Where rows are joined, or shards go on using the
// reduced values as their own, the update reads recomputed copies, and the collective is at a new node: the graph
// grows. UNIMPLEMENTED ARG-DP-003: it is not known how an update's input combines over shards.
Status add_update_collectives(Graph& graph, const UpdateCollectivesRequest& request,
                              std::vector<CollectivePoint>& collectives);

Status cannot_combine(const Node& update, std::string_view why);

}  // namespace argosy
