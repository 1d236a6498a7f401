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
  // The point of the step that the gradient is, if only such updates take it: its sum is made in shards. -1: the sum is
  // made whole, and sliced.
  int collective = -1;
  // Reads of the variable in no order to the update. They come first: later they would see some shards before, some
  // after it.
  std::vector<NodeId> reads = {};
};

struct ZeroPlan {
  std::vector<ShardedUpdate> updates;
  std::vector<std::string> kept;  // "'u' (ApplyAdam): 'mean' (Mean) uses its slot 'w/Adam'": slots that stay whole
};

// `graph`: the original. `targets`: nodes that a step names to run them.
Result<ZeroPlan> plan_sharded_updates(const Graph& graph, const ReplicationFacts& step,
                                      const std::vector<NodeId>& targets);

// How a node that runs once (a saver, an initialiser) uses a variable by its reference or handle.
enum class SlotUse : char {
  kRead,    // takes the value
  kWrite,   // input 1 is written, element by element: Assign
  kAsk,     // takes a fact that all shards share: whether there is a value
  kUnknown  // none of these
};
SlotUse slot_use(const Graph& graph, NodeId variable, const Graph::Use& use);

}  // namespace argosy
