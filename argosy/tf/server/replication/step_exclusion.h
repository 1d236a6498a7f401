// Turns: steps of a session beside each other, and one by itself now and then: while that is checked, whatever others
// did to its state would be lost or mistaken for its own doing. Thread-safe. Internal to the session server.
#pragma once

#include <utility>

#include "argosy/base/mutex.h"

namespace argosy::tf {

class Turns {
 public:
  // A step that runs beside others, from now until this object goes.
  class Beside {
   public:
    Beside(Beside&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), writes_(other.writes_) {}
    Beside& operator=(Beside&&) = delete;
    ~Beside() {
      if (turns_ != nullptr) turns_->leave(writes_);
    }

   private:
    friend class Turns;
    Beside(Turns* turns, bool writes) : turns_(turns), writes_(writes) {}
    Turns* turns_;
    bool writes_;
  };
  // Waits while another step is by itself. `writes`: variables.
  Beside enter(bool writes);

  // False where others are under way: those that write or, with `all`, any. Else nobody may enter until leave_alone().
  bool try_alone(bool all);
  void leave_alone();

 private:
  void leave(bool writes);

  Mutex mutex_;
  CondVar changed_;
  int writers_ ARGOSY_GUARDED_BY(mutex_) = 0, others_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool alone_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
