// StepExclusion: steps of a session run concurrently, and a checked step runs alone. During a check, other writes to
// the state would be lost, or taken for the checked step's own. Thread-safe. Internal to the session server.
#pragma once

#include <optional>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

class StepExclusion {
 public:
  // A step that runs concurrently with others, while this object lives.
  class Shared {
   public:
    Shared(Shared&& other) noexcept : exclusion_(std::exchange(other.exclusion_, nullptr)), writes_(other.writes_) {}
    Shared& operator=(Shared&&) = delete;
    ~Shared() {
      if (exclusion_ != nullptr) exclusion_->leave(writes_);
    }

   private:
    friend class StepExclusion;
    Shared(StepExclusion* exclusion, bool writes) : exclusion_(exclusion), writes_(writes) {}
    StepExclusion* exclusion_;
    bool writes_;
  };
  // A step that runs alone, while this object lives.
  class Exclusive {
   public:
    Exclusive(Exclusive&& other) noexcept : exclusion_(std::exchange(other.exclusion_, nullptr)) {}
    Exclusive& operator=(Exclusive&&) = delete;
    ~Exclusive() {
      if (exclusion_ != nullptr) exclusion_->leave_exclusive();
    }

   private:
    friend class StepExclusion;
    explicit Exclusive(StepExclusion* exclusion) : exclusion_(exclusion) {}
    StepExclusion* exclusion_;
  };

  // Waits while another step runs exclusively. `writes`: the step writes variables. Returns the status of
  // `cancellation` (may be null) if it is cancelled before.
  Result<Shared> enter(bool writes, Cancellation* cancellation);
  // Does not wait. nullopt: a step runs that is exclusive or writes or, with `all`, any step. Else no step can enter
  // while the result lives.
  std::optional<Exclusive> try_exclusive(bool all);

 private:
  void leave(bool writes);
  void leave_exclusive();

  Mutex mutex_;
  CondVar changed_;
  int writers_ ARGOSY_GUARDED_BY(mutex_) = 0, others_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool exclusive_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
