// Ended: records the end of an operation, for tests of queues and barriers.
#pragma once

#include "argosy/ops/queue/queue_state.h"

namespace argosy {

// The result of an operation, and how often its `done` was called: 0 while it waits.
struct Ended {
  int times = 0;
  Status status;
  QueueState::Tuple tuple;
  QueueState::Done done() {
    return [this](Status s, QueueState::Tuple t) {
      ++times;
      status = std::move(s);
      tuple = std::move(t);
    };
  }
};

}  // namespace argosy
