// The number of threads for libraries that compute on OpenMP threads (oneDNN). Their order of summation depends on the
// size of the team. So a run that must be deterministic on devices with different numbers of cores gives them one
// thread. Our own loops (parallel_for) sum in an order that does not depend on the team, and keep all threads.
#pragma once

namespace argosy {

// For the calling thread: thread_budget(), or 1 within a DeterministicScope.
int library_threads();

// While it lives and `on` is true, library_threads() is 1 on the calling thread. Costs a few nanoseconds.
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
