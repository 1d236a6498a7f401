// Operations of async kernels that wait for a resource to change: for a gradient, an element, room. Nobody holds a
// thread; cancellation ends a wait. Thread-safe; the resource guards its state by mutex().
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
    kStrict,  // who came first is served first, however long that takes
    kAny,     // whoever can be served is, those who came first before others
  };

  explicit BlockedOps(Order order) : order_(order) {}

  Mutex& mutex() ARGOSY_THREAD_ATTRIBUTE(lock_returned(mutex_)) { return mutex_; }

  // Ends at once or later by one call of `done`, without the lock. `owner` has these blocked ops in it and lives until
  // then. Without a cancellation nothing could end a wait: FAILED_PRECONDITION instead of one. `what`: "Dequeue".
  void add(std::shared_ptr<void> owner, Cancellation* cancellation, const char* what, TryComplete try_complete,
           Done done) ARGOSY_EXCLUDES(mutex_);
  // Nobody waits.
  bool idle() const ARGOSY_REQUIRES(mutex_) { return waiting_.empty(); }
  // The state has changed: whoever can go on does. REQUIRES: the caller holds the owner.
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
