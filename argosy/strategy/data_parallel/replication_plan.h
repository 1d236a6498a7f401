// What a data-parallel rewrite must know of a graph before it changes anything: which nodes see the batch, which
// variables are updated, and where values must be summed over shards. Internal to strategy/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/decompose_batch_norm.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Where a node's copies are.
enum class ReplicaKind : char {
  kSingleton,   // one for all: feeds, initialisers, savers
  kReplicated,  // one a device: variables, updates, constants
  kSharded,     // one a shard: whatever is computed from the batch
};

struct ReplicationPlan {
  std::vector<NodeId> inputs;  // batch placeholders
  BatchAxes axes;
  std::vector<BatchPlacement> losses;        // as asked for
  std::vector<NodeId> seeds;                 // where their gradients start; empty: not found
  std::vector<ReplicaKind> replica_kinds;    // by node
  std::vector<CollectivePoint> collectives;  // in the order in which they are computed
  // Sizes that all examples have are looked up in shards; one without examples would find others.
  bool needs_nonempty_shards = false;
  // Shards normalise with means of their own rows. Of no rows there are none, and what is made of them is no number.
  bool has_shard_means = false;
  Replaced replaced;  // batch norms that were written out
};

struct ReplicationRequest {
  std::vector<Endpoint> losses;
  std::vector<NodeId> train;
  std::vector<NodeId> inputs;
  std::optional<PlacementKind> loss_placement;
  BatchAxes::Examples examples = {};
  bool sync_batch_norm = false;  // statistics for normalisation are the global batch's
  bool sharded = true;           // else one device has all of the batch: its examples may meet each other
};

// REQUIRES: the graph has no error. Changes of the graph, all of them behind its nodes: where the loss is a mean and
// the seed of its gradients is found, the seed is scaled by the shard's part of the batch, and gradients then only need
// to be added. (A loss that is a weighted mean gets its sum of weights reduced, and is a plain sum from then on.) Updates
// that take rows (gradients of gathered rows) take joined ones, and what lies between is copied to be computed from
// those.
Result<ReplicationPlan> plan_replication(Graph& graph, const ReplicationRequest& request);

}  // namespace argosy
