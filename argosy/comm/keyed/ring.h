// Collectives around a ring, as TensorFlow's CPU tasks do them: every member sends to the next one and receives from the
// one before. Twice round for a sum, once for a gathering. The order of the additions is the ring's.
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
  std::string key;           // of this run of the collective: equal on all members, and of no other run
  std::vector<int> offsets;  // of its rings (ring_order.h); a gathering has one, 0
  // Of a reduction: the member's values, which become the result. Of a gathering: all parts, the member's own in place.
  Tensor values;
  Reduction reduction = Reduction::kSum;
  bool mean = false;  // the result is divided by the number of members
};

// Joins the collective and returns. `done` is called once, when nobody touches `values` any more; after an error they
// hold nothing of use, and the exchange was aborted with it.
using RingDone = std::function<void(Status)>;
void start_ring_reduce(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done);
void start_ring_gather(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done);

}  // namespace argosy
