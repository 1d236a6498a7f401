// What a data-parallel rewrite must know of a graph before it changes anything: which nodes see the batch, which
// variables are updated, and where values must be summed over shards. Internal to strategy/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/combination.h"

namespace argosy {

// Where a node's copies are.
enum class Level : char {
  kOnce,    // one for all: feeds, initialisers, savers
  kDevice,  // one a device: variables, updates, constants
  kShard,   // one a shard: whatever is computed from the batch
};

// A value to be combined over shards before anyone uses it.
struct Cut {
  Endpoint value;
  Combine how = Combine::kSum;  // or kMean: weighted by each shard's part of the batch; or kConcat: rows are joined
  int depth = 0;                // longest chain of other cuts it has to wait for
  int branch = 0;               // cuts of one branch of a conditional have one number; 0: always computed
};

struct UpdatePlan {
  std::vector<NodeId> inputs;  // batch placeholders
  BatchAxes axes;
  Combination loss;           // kSame without one
  std::vector<Level> levels;  // by node
  std::vector<Cut> cuts;      // in the order in which they are computed
};

struct UpdateRequest {
  std::optional<Endpoint> loss;
  std::vector<NodeId> train;
  std::vector<NodeId> inputs;
  std::optional<Combine> combine;
  BatchAxes::Examples examples = {};
};

// REQUIRES: the graph has no error. Changes of the graph, all of them behind its nodes: where the loss is a mean and
// the seed of its gradients is found, the seed is scaled by the shard's part of the batch, and gradients then only need
// to be added. (A loss that is a weighted mean gets its sum of weights cut, and is a plain sum from then on.) Updates
// that take rows (gradients of gathered rows) take joined ones, and what lies between is copied to be computed from
// those.
Result<UpdatePlan> plan_updates(Graph& graph, const UpdateRequest& request);

}  // namespace argosy
