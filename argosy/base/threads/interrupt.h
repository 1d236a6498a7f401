// How work that takes long sees that its step is over: the executor names the step's cancellation for the thread, and
// loops ask now and then. Whoever asks in vain gets an exception, which the guard around each kernel and each compile
// (argosy/base/guard.h) turns into the reason of the cancellation: no function between has to pass it on.
//
// parallel_for() asks between blocks by itself. Serial loops that may run longer than some 10 ms ask with
// check_interrupted() or a Poll. Threads without a scope are never interrupted.
#pragma once

#include <exception>
#include <utility>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

// What check_interrupted() throws: the step was cancelled, or its deadline has passed.
class Interrupted final : public std::exception {
 public:
  explicit Interrupted(Status reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return "the step is over"; }
  const Status& reason() const { return reason_; }

 private:
  Status reason_;
};

// While it lives, this thread works for whoever holds `cancellation`. Scopes nest: the innermost counts. Costs two
// stores to a variable of the thread.
class InterruptScope {
 public:
  explicit InterruptScope(const Cancellation* cancellation, bool between_blocks = true);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // May parallel_for() stop halfway? Not where the work changes what outlives the step (a variable, in place). Set by
  // the scope's own thread.
  void between_blocks(bool may) { between_blocks_ = may; }

  // That of the calling thread; null: none.
  static const InterruptScope* current();
  const Cancellation* cancellation() const { return cancellation_; }
  // Null: parallel_for() does not ask.
  const Cancellation* of_blocks() const { return between_blocks_ ? cancellation_ : nullptr; }

 private:
  const Cancellation* const cancellation_;
  bool between_blocks_;
  const InterruptScope* const before_;
};

// Is the work of this thread's innermost scope over?
bool interrupted();
// Throws Interrupted if so. About 5 ns.
void check_interrupted();

// check_interrupted() every `every` turns of a loop: for turns of nanoseconds.
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
