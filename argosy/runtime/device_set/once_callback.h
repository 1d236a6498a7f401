// OnceCallback: calls the callback of an asynchronous kernel exactly once, whatever becomes of its owners. Later calls
// do nothing. If the last owner is destroyed before a call, it calls with INTERNAL, or with what its task threw
// (argosy/base/guard.h): so no run waits for ever. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "argosy/base/guard.h"

namespace argosy {

class OnceCallback {
 public:
  explicit OnceCallback(std::function<void(Status)> tell) : tell_(std::move(tell)) {}
  OnceCallback(const OnceCallback&) = delete;
  OnceCallback& operator=(const OnceCallback&) = delete;
  ~OnceCallback() {
    if (told_.load()) return;
    Status why = thrown_by_task();
    if (why.ok()) {
      why = guarded([] { return internal_error("its kernel ended without a word").with_id("ARG-BUG-003"); });
    }
    tell(std::move(why));
  }

  void tell(Status status) {
    if (!told_.exchange(true)) contained("the end of a kernel", [&] { tell_(std::move(status)); });
  }

 private:
  std::atomic<bool> told_{false};
  const std::function<void(Status)> tell_;
};

}  // namespace argosy
