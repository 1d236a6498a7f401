// Where a graph's updates need values of the whole batch, and how they get them. Internal to strategy/.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"

namespace argosy {

// A value to be combined over shards before anyone uses it.
struct Cut {
  Endpoint value;
  Combine how = Combine::kSum;  // or kMean: weighted by each shard's part of the batch; or kConcat: rows are joined
  int depth = 0;                // longest chain of other cuts it has to wait for
  int branch = 0;               // cuts of one branch of a conditional have one number; 0: always computed
  int loop = 0;                 // cuts of one loop have one number; 0: in none
};

bool is_among(const std::vector<Cut>& cuts, Endpoint e);

struct CutRequest {
  const BatchAxes& axes;
  Combine gradients = Combine::kSum;  // how those of the loss combine; kMean: no seed weighs them
  const std::vector<NodeId>& seeds;   // where they start; empty: not found
  const std::vector<Endpoint>& losses;
};

// Adds cuts for all that the graph's updates take of the batch. Where rows are joined, or shards go on using what is
// cut as their own, the update takes copies of what lies between, and the cut is at a new node: the graph grows then.
// UNIMPLEMENTED ARG-DP-003: an update of which it cannot be told what it takes of a batch in shares.
Status cut_updates(Graph& graph, const CutRequest& request, std::vector<Cut>& cuts);

Status cannot_combine(const Node& update, std::string_view why);

}  // namespace argosy
