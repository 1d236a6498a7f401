// CollectiveCall: what one rank asks for in a collective. An op's kernel makes it, and a Communicator carries it out.
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

// The caller owns the spans and the strings. They stay valid until the call is over (Communicator::start(), run()).
struct CollectiveCall {
  Collective kind = Collective::kBarrier;
  Reduction reduction = Reduction::kSum;
  int root = 0;                     // broadcast
  int peer = 0;                     // send, recv: the other rank
  int total = 0;                    // all_reduce_shards, reduce_scatter_shards: logical shards of the whole group
  std::string_view name = {};       // equal on all ranks; appears in errors: "bucket 3"
  std::span<const Tensor> tensors;  // inputs; also the outputs of calls that work in place
  std::span<const Tensor> out;
  std::span<const Shard> shards;

  std::string_view member = {};         // name of the node that makes the call, for errors
  bool same_shapes = false;             // shapes must be equal on all ranks, not only numbers of elements
  bool any_rows = false;                // with same_shapes: first dimensions may differ
  bool any_order = false;               // the backend may choose the order of additions, on which the bits depend
  std::chrono::nanoseconds timeout{0};  // of start(): limit of the wait for other ranks; 0 = no limit of its own
  Event ready = {};                     // of start(): the tensors may be used only after this event

  // Set by the communicator.
  int rank = 0;
  Device* device = nullptr;  // whose memory the tensors are in; null = the host's

  // "all_reduce(sum) \"bucket 3\" of float[784,256], float[256]"
  std::string describe() const;
};

}  // namespace argosy
