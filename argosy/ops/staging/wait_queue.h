// WaitQueue: a resource through which steps pass values: its contents, and the operations that wait until they can
// complete. Earlier operations are tried first. Thread-safe; waiting blocks no thread. Internal to the staging family.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/guard.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

// `Held`: the contents' class, used only under this class's lock.
template <typename Held>
class WaitQueue final : public Resource, public std::enable_shared_from_this<WaitQueue<Held>> {
 public:
  using Done = std::function<void(Status)>;
  // Called under the lock until it returns a result. nullopt: it cannot complete yet, and has changed nothing.
  using TryComplete = std::function<std::optional<Status>(Held&)>;

  explicit WaitQueue(std::string what, Held held = {}) : what_(std::move(what)), held_(std::move(held)) {}
  std::string describe() const override { return what_; }

  // Calls `done` once: at once, or later on the thread that made it possible, or with the cancellation's status.
  // Outside of a step (`cancellation` null) it never waits: FAILED_PRECONDITION.
  void start(TryComplete try_complete, Cancellation* cancellation, Done done) {
    const auto self = this->shared_from_this();
    auto waiter = std::make_shared<Waiter>(Waiter{std::move(try_complete), std::move(done), cancellation});
    bool accepted = true;
    {
      MutexLock lock(mutex_);
      accepted = cancellation == nullptr || cancellation->add([self, waiter] { self->cancel(waiter); }, &waiter->token);
      if (accepted) waiting_.push_back(waiter);
    }
    if (!accepted) return waiter->done(cancellation->status());
    serve();
    if (cancellation == nullptr && withdraw(waiter)) {
      waiter->done(failed_precondition(what_, ": outside a step nothing can be waited for"));
    }
  }

  // Runs fn(contents) under the lock, then serves the operations that wait. For operations that never wait.
  template <typename Fn>
  auto now(Fn&& fn) {
    const auto self = this->shared_from_this();
    const auto result = [&] {
      MutexLock lock(mutex_);
      return fn(held_);
    }();
    serve();
    return result;
  }

 private:
  struct Waiter {
    TryComplete try_complete;
    Done done;
    Cancellation* cancellation;
    Cancellation::Token token = 0;
    Status status = {};
  };
  using WaitList = std::list<std::shared_ptr<Waiter>>;

  // Tries all waiting operations until a round completes none: each that completes may unblock an earlier one.
  void serve() {
    WaitList finished;
    {
      MutexLock lock(mutex_);
      for (bool again = true; again;) {
        again = false;
        for (auto at = waiting_.begin(); at != waiting_.end();) {
          Waiter& waiter = **at;
          const bool leaving = waiter.cancellation != nullptr && waiter.cancellation->cancelled();  // cancel() comes
          std::optional<Status> ended = leaving ? std::nullopt : attempted(waiter);
          if (!ended) {
            ++at;
            continue;
          }
          waiter.status = *std::move(ended);
          finished.splice(finished.end(), waiting_, at++);
          again = true;
        }
      }
    }
    for (const auto& waiter : finished) {
      if (waiter->cancellation != nullptr) waiter->cancellation->remove(waiter->token);
      tell(*waiter, std::move(waiter->status));
    }
  }

  // Tries the operation once. An exception ends it with an error.
  std::optional<Status> attempted(Waiter& waiter) ARGOSY_REQUIRES(mutex_) {
    try {
      return waiter.try_complete(held_);
    } catch (...) {
      return status_of_exception();
    }
  }
  void tell(Waiter& waiter, Status status) const {
    Done done = std::move(waiter.done);
    call_and_release(done, what_.c_str(), std::move(status));
  }

  bool withdraw(const std::shared_ptr<Waiter>& waiter) {
    MutexLock lock(mutex_);
    return waiting_.remove(waiter) > 0;
  }
  void cancel(const std::shared_ptr<Waiter>& waiter) {
    if (withdraw(waiter)) tell(*waiter, waiter->cancellation->status());
  }

  const std::string what_;
  Mutex mutex_;
  Held held_ ARGOSY_GUARDED_BY(mutex_);
  WaitList waiting_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
