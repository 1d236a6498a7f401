#include "argosy/base/threads/interrupt.h"

namespace argosy {

namespace {

thread_local const InterruptScope* innermost = nullptr;

}  // namespace

InterruptScope::InterruptScope(const Cancellation* cancellation, bool between_blocks)
    : cancellation_(cancellation), between_blocks_(between_blocks), before_(innermost) {
  innermost = this;
}
InterruptScope::~InterruptScope() { innermost = before_; }

const InterruptScope* InterruptScope::current() { return innermost; }

bool interrupted() {
  return innermost != nullptr && innermost->cancellation() != nullptr && innermost->cancellation()->cancelled();
}

void check_interrupted() {
  if (interrupted()) [[unlikely]]
    throw Interrupted(innermost->cancellation()->status());
}

}  // namespace argosy
