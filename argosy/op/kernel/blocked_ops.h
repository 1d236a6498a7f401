// BlockedOps: operations of async kernels that wait for a resource to change (for a gradient, an element, room). A wait
// holds no thread, and cancellation ends it. Thread-safe; the resource guards its state with mutex().
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

class BlockedOps {
 public:
  // Tries to finish the operation, with mutex() held: true when it is over, with or without an error in `status`.
  using TryComplete = std::function<bool(Status& status)>;
  using Done = std::function<void(Status)>;
  enum class Order {
    kStrict,  // first in, first out: an operation that cannot complete blocks all later ones
    kAny,     // every operation that can complete does; earlier ones are tried first
  };

  explicit BlockedOps(Order order) : order_(order) {}

  Mutex& mutex() ARGOSY_THREAD_ATTRIBUTE(lock_returned(mutex_)) { return mutex_; }

  // Tries the operation now, and again at each wake(), until it is over. Then calls `done` once, without the lock.
  // `owner`, which contains this object, is kept alive until then. `cancellation` null: an operation that would have to
  // wait gets FAILED_PRECONDITION, since nothing could end the wait. `what`: "Dequeue".
  void add(std::shared_ptr<void> owner, Cancellation* cancellation, const char* what, TryComplete try_complete,
           Done done) ARGOSY_EXCLUDES(mutex_);
  // True if no operation waits.
  bool idle() const ARGOSY_REQUIRES(mutex_) { return waiting_.empty(); }
  // Tries the waiting operations again; call it after each change of state. REQUIRES: the caller keeps the owner alive.
  void wake() ARGOSY_EXCLUDES(mutex_);

 private:
  struct Waiting {
    std::shared_ptr<void> owner;
    Cancellation* cancellation;
    const char* what;
    TryComplete try_complete;
    Done done;
    Cancellation::Token token = 0;
    Status status = {};
  };
  using List = std::list<std::shared_ptr<Waiting>>;

  bool withdraw(const std::shared_ptr<Waiting>& waiting) ARGOSY_EXCLUDES(mutex_);
  static bool completed(Waiting& waiting);
  List finished() ARGOSY_REQUIRES(mutex_);
  static void finish(List list);

  const Order order_;
  Mutex mutex_;
  List waiting_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
