// Deadlines: alarms that pull cancellation switches. Thread-safe.
#pragma once

#include <string>
#include <utility>

#include "argosy/base/alarms.h"
#include "argosy/base/cancellation.h"

namespace argosy {

class Deadlines {
 public:
  using Token = Alarms::Token;

  // At `when`, cancels with DEADLINE_EXCEEDED. The switch must live until remove() has returned. RESOURCE_EXHAUSTED as
  // Alarms::set.
  Result<Token> add(Alarms::Time when, Cancellation& cancellation, std::string what) {
    return alarms_.set(when, [&cancellation, what = std::move(what)] {
      cancellation.cancel(deadline_exceeded(what).with_id("ARG-DEADLINE-001"));
    });
  }
  void remove(Token token) { alarms_.drop(token); }

 private:
  Alarms alarms_;
};

}  // namespace argosy
