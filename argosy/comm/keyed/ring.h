// Collectives around a ring, as TensorFlow's CPU tasks do them: every member sends to the next one and receives from
// the one before. An all-reduce passes the ring twice, an all-gather once. The ring defines the order of the additions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/comm/keyed/piece_exchange.h"
#include "argosy/comm/reduction.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct RingCall {
  KeyedGroup group;
  std::string key;           // names this run of the collective: equal on all members, and unique among runs
  std::vector<int> offsets;  // offsets of its rings (ring_order.h); {0} for an all-gather
  // All-reduce: the member's values, which the result replaces. All-gather: the result, with the member's part filled
  // in.
  Tensor values;
  Reduction reduction = Reduction::kSum;
  bool mean = false;  // the result is divided by the number of members
};

// These two join the collective and return. `done` is called once, after the last access to `values`. After an error
// `values` are undefined, and the exchange was aborted with that error.
using RingDone = std::function<void(Status)>;
void start_ring_reduce(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done);
void start_ring_gather(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done);

}  // namespace argosy
