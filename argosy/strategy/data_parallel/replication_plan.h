// The plan of a data-parallel rewrite: which nodes see the batch, which variables are updated, which values are
// combined over shards. Internal to strategy/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/decompose_batch_norm.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// How often a node exists.
enum class ReplicaKind : char {
  kSingleton,   // once: feeds, initialisers, savers
  kReplicated,  // once per device: variables, updates, constants
  kSharded,     // once per shard: every node computed from the batch
};

struct ReplicationPlan {
  std::vector<NodeId> inputs;  // batch placeholders
  BatchAxes axes;
  std::vector<BatchPlacement> losses;        // by requested loss
  std::vector<NodeId> seeds;                 // where the losses' gradients start; empty: not found
  std::vector<ReplicaKind> replica_kinds;    // by node
  std::vector<CollectivePoint> collectives;  // in the order of their computation
  // A size that is the same for all examples is computed from the shard's rows. A shard without rows would get another
  // size.
  bool needs_nonempty_shards = false;
  // Shards normalise with means of their own rows. A shard without rows has no mean.
  bool has_shard_means = false;
  Replaced replaced;  // decomposed batch norms
};

struct ReplicationRequest {
  std::vector<Endpoint> losses;
  std::vector<NodeId> train;
  std::optional<NodeId> seed = {};       // given seed of the only loss; others are found by name
  std::vector<Endpoint> gradients = {};  // given gradients of that loss
  std::vector<NodeId> inputs;
  std::optional<PlacementKind> loss_placement;
  BatchAxes::Examples examples = {};
  bool sync_batch_norm = false;  // statistics for normalisation are global
  bool sharded = true;           // false: one device has the global batch, so examples may depend on each other
};

// REQUIRES: the graph has no error. Changes the graph, always with new nodes:
// - If the loss is a mean and its seed is known, the seed is scaled by the shard's weight. Gradients are plain sums
//   then.
// - If the loss is a weighted mean, its sum of weights gets a collective. The loss is a plain sum from then on.
// - Updates that take rows (gradients of gathered rows) read joined rows. The nodes between are copied.
Result<ReplicationPlan> plan_replication(Graph& graph, const ReplicationRequest& request);

}  // namespace argosy
