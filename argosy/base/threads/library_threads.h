// The team of libraries that compute on OpenMP threads (oneDNN). How they split a sum depends on the size of the team,
// so a run that must have the same bits on devices with more or fewer cores gives them one thread. Loops of our own
// (parallel_for) add up in an order that does not depend on their team, and keep it.
#pragma once

namespace argosy {

// Of the calling thread: thread_budget(), or 1 within DeterministicScope.
int library_threads();

// Within a scope, on the calling thread, if `on`. Costs a few nanoseconds.
class DeterministicScope {
 public:
  explicit DeterministicScope(bool on);
  ~DeterministicScope();
  DeterministicScope(const DeterministicScope&) = delete;
  DeterministicScope& operator=(const DeterministicScope&) = delete;

 private:
  bool before_;
};

}  // namespace argosy
