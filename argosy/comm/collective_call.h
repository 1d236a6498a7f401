// CollectiveCall: one rank's part in a collective, from the op's kernel to whoever does the work.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "argosy/comm/reduction.h"
#include "argosy/device/device.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllReduceShards,
  kReduceScatter,
  kReduceScatterShards,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kAllToAllParts,
  kBarrier,
  kSend,
  kRecv
};

// One logical shard's contribution to an all_reduce_shards or reduce_scatter_shards.
struct Shard {
  int index = 0;
  std::span<const Tensor> tensors;
};

// Spans and texts are the caller's. They stay until the call is over (Communicator::start(), run()).
struct CollectiveCall {
  Collective kind = Collective::kBarrier;
  Reduction reduction = Reduction::kSum;
  int root = 0;                     // broadcast
  int peer = 0;                     // send, recv: the other rank
  int total = 0;                    // all_reduce_shards, reduce_scatter_shards: logical shards of the whole group
  std::string_view name = {};       // equal on all ranks; appears in errors: "bucket 3"
  std::span<const Tensor> tensors;  // in; also out where in place
  std::span<const Tensor> out;
  std::span<const Shard> shards;

  std::string_view member = {};         // who asks, for errors: the name of a node
  bool same_shapes = false;             // tensors of equal size but other shape are an error, too
  bool any_rows = false;                // with same_shapes: but for their first dimension
  bool any_order = false;               // the backend may add in an order of its own; the bits follow it
  std::chrono::nanoseconds timeout{0};  // of start(): for other ranks to come; 0 = the group's own
  Event ready = {};                     // of start(): before it nobody may touch the tensors

  // Set by the communicator.
  int rank = 0;
  Device* device = nullptr;  // whose memory the tensors are in; null = the host's

  // "all_reduce(sum) \"bucket 3\" of float[784,256], float[256]"
  std::string describe() const;
};

}  // namespace argosy
