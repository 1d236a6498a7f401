// Deadlines: timers that cancel steps. Thread-safe.
#pragma once

#include <string>
#include <utility>

#include "argosy/base/threads/cancellation.h"
#include "argosy/base/threads/timers.h"

namespace argosy {

class Deadlines {
 public:
  using Token = Timers::Token;

  // At `when`, cancels `cancellation` with DEADLINE_EXCEEDED. It must live until remove() has returned.
  // RESOURCE_EXHAUSTED as Timers::set.
  Result<Token> add(Timers::Time when, Cancellation& cancellation, std::string what) {
    return timers_.set(when, [&cancellation, what = std::move(what)] {
      cancellation.cancel(deadline_exceeded(what).with_id("ARG-DEADLINE-001"));
    });
  }
  void remove(Token token) { timers_.cancel(token); }

 private:
  Timers timers_;
};

// One deadline, removed by the destructor.
class Deadline {
 public:
  explicit Deadline(Deadlines* deadlines) : deadlines_(deadlines) {}
  ~Deadline() { end(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // As Deadlines::add. REQUIRES: `deadlines` is not null, and set() is called once.
  Status set(Timers::Time when, Cancellation& cancellation, std::string what) {
    ARGOSY_ASSIGN_OR_RETURN(token_, deadlines_->add(when, cancellation, std::move(what)));
    return ok_status();
  }
  void end() {
    if (token_ != 0) deadlines_->remove(std::exchange(token_, 0));
  }

 private:
  Deadlines* const deadlines_;
  Deadlines::Token token_ = 0;
};

}  // namespace argosy
