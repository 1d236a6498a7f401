// What tests of queues and barriers share.
#pragma once

#include "argosy/ops/queue/queue_state.h"

namespace argosy {

// What an operation ended with, if it has ended.
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
