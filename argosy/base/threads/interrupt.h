// Interrupts long work whose step is over. The executor sets the step's cancellation for the thread (InterruptScope),
// and loops test it now and then. When the step is over, the test throws. The guard around each kernel and each compile
// (argosy/base/guard.h) turns that into the reason of the cancellation, so no function in between has to pass it on.
//
// parallel_for() tests between blocks. Serial loops that may run longer than about 10 ms call check_interrupted() or a
// Poll. A thread without a scope is never interrupted.
#pragma once

#include <exception>
#include <utility>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

// The exception of check_interrupted(): the step was cancelled, or its deadline has passed.
class Interrupted final : public std::exception {
 public:
  explicit Interrupted(Status reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return "the step is over"; }
  const Status& reason() const { return reason_; }

 private:
  Status reason_;
};

// While it lives, this thread works for the step of `cancellation` (may be null). Scopes nest; the innermost counts.
// Costs two stores to a thread-local variable.
class InterruptScope {
 public:
  explicit InterruptScope(const Cancellation* cancellation, bool between_blocks = true);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Sets whether parallel_for() may stop between blocks. It may not where the work changes state that outlives the step
  // (a variable, in place). Called by the scope's own thread.
  void between_blocks(bool may) { between_blocks_ = may; }

  // The scope of the calling thread; null: none.
  static const InterruptScope* current();
  const Cancellation* cancellation() const { return cancellation_; }
  // The cancellation that parallel_for() tests; null: it tests none.
  const Cancellation* of_blocks() const { return between_blocks_ ? cancellation_ : nullptr; }

 private:
  const Cancellation* const cancellation_;
  bool between_blocks_;
  const InterruptScope* const before_;
};

// Whether the step of this thread's innermost scope is over.
bool interrupted();
// Throws Interrupted if interrupted(). About 5 ns.
void check_interrupted();

// Calls check_interrupted() every `every` iterations: for iterations of nanoseconds.
class Poll {
 public:
  explicit Poll(int every) : every_(every), left_(every) {}
  void operator()() {
    if (--left_ > 0) [[likely]]
      return;
    left_ = every_;
    check_interrupted();
  }

 private:
  const int every_;
  int left_;
};

}  // namespace argosy
