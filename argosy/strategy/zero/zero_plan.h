// Which updates may run on shards, each device updating its own elements of a variable (ZeRO-1). Internal to strategy/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/strategy/zero/replication_facts.h"

namespace argosy {

// Smaller variables stay replicated: their slots are few bytes, and a collective costs more.
inline constexpr std::int64_t kLeastShardedBytes = 64 << 10;

// All nodes are the original graph's.
struct ShardedUpdate {
  NodeId node;
  NodeId variable;
  std::vector<NodeId> slots;
  Endpoint gradient;
  std::int64_t elements = 0;
  DType dtype = DType::kInvalid;
  // The position of the gradient in ReplicationFacts::points, if only sharded updates read it: a reduce-scatter makes
  // its sum. -1: the sum is made whole on every device, and sliced.
  int collective = -1;
  // Reads of the variable that nothing orders before or after the update. They must run before it. Else they could see
  // the old values of some shards and the new ones of others.
  std::vector<NodeId> reads = {};
};

struct ZeroPlan {
  std::vector<ShardedUpdate> updates;
  std::vector<std::string> kept;  // updates whose slots stay whole: "'u' (ApplyAdam): 'mean' (Mean) uses its slot …"
};

// Finds the updates of the original `graph` that may run on shards. `targets`: nodes that a step runs by name.
Result<ZeroPlan> plan_sharded_updates(const Graph& graph, const ReplicationFacts& step,
                                      const std::vector<NodeId>& targets);

// How a node that runs once (a saver, an initialiser) uses a variable by its reference or handle.
enum class SlotUse : char {
  kRead,    // reads the value
  kWrite,   // assigns input 1, a value of the same shape: Assign
  kAsk,     // queries a fact that all shards share: whether the variable is initialised
  kUnknown  // none of these
};
SlotUse slot_use(const Graph& graph, NodeId variable, const Graph::Use& use);

}  // namespace argosy
