// StepExclusion: steps of a session run concurrently, and a checked step runs alone. During a check, other writes to
// the state would be lost, or taken for the checked step's own. Thread-safe. Internal to the session server.
#pragma once

#include <utility>

#include "argosy/base/mutex.h"

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
  // Waits while another step is exclusive. `writes`: the step writes variables.
  Shared enter(bool writes);

  // False if other steps are running: writers or, with `all`, any. Otherwise nobody can enter until leave_exclusive().
  bool try_exclusive(bool all);
  void leave_exclusive();

 private:
  void leave(bool writes);

  Mutex mutex_;
  CondVar changed_;
  int writers_ ARGOSY_GUARDED_BY(mutex_) = 0, others_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool exclusive_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
