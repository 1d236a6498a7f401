#include "argosy/base/threads/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "argosy/base/guard.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/system/cgroup.h"
#include "argosy/base/threads/idle_team.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/base/threads/omp_spin_policy.h"

// libgomp's own entry points (a stable ABI): the team is GNU's, whatever compiler builds us, because oneDNN's is.
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
void omp_set_num_threads(int threads);
int omp_pause_resource_all(int kind);
}

namespace argosy {

namespace {

// Cores' worth of time that the tightest control group around this process grants; 0 when there is no limit.
double cgroup_quota() {
  double tightest = 0;
  for (const std::string& path :
       cgroup_files(read_small_file("/proc/self/cgroup"), "cpu", "cpu.max", "cpu.cfs_quota_us")) {
    // "max 100000" or "200000 100000" in version 2, two files in version 1.
    std::string text = read_small_file(path);
    if (const std::size_t at = path.rfind("cfs_quota_us"); at != std::string::npos) {
      text += read_small_file(path.substr(0, at) + "cfs_period_us");
    }
    double quota = 0;
    double period = 0;
    if (std::sscanf(text.c_str(), "%lf %lf", &quota, &period) != 2 || !(quota > 0) || !(period > 0)) continue;
    tightest = tightest == 0 ? quota / period : std::min(tightest, quota / period);
  }
  return tightest;
}

thread_local int budget = 0;
thread_local bool deterministic = false;

// Threads, with this one, that the system granted this thread's team when it was last asked.
thread_local int granted = 1;

// libgomp ends the process when it cannot start the threads of a team. So this starts as many threads first, all alive
// at once. Returns how many threads the team may have.
int team_threads(int wanted) {
  if (wanted <= granted) return wanted;
#if defined(ARGOSY_TSAN)
  granted = wanted;
#else
  std::vector<std::thread> asked;
  std::atomic<bool> over{false};
  try {
    asked.reserve(static_cast<std::size_t>(wanted - 1));
    while (static_cast<int>(asked.size()) < wanted - 1) {
      asked.emplace_back([&over] { over.wait(false, std::memory_order_acquire); });
    }
    granted = wanted;
  } catch (const std::exception&) {  // no thread left, or no memory for one: this time the team is smaller
    wanted = std::max(granted, static_cast<int>(asked.size()));  // one fewer than there were: they are gone for a while
  }
  over.store(true, std::memory_order_release);
  over.notify_all();
  for (std::thread& thread : asked) thread.join();
#endif
  return std::max(wanted, 1);
}

void set_library_threads() {
#if !defined(ARGOSY_TSAN)
  omp_set_num_threads(deterministic ? 1 : budget);
#endif
}

}  // namespace

int available_cores() {
  static const int cores = [] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    int n = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    const double quota = cgroup_quota();
    if (quota > 0) n = std::min(n, static_cast<int>(std::ceil(quota)));
    return std::max(n, 1);
  }();
  return cores;
}

void set_thread_budget(int threads) {
  budget = team_threads(std::max(threads, 1));
  // Called as threads begin, where nothing may be thrown: without memory for it, waits stay as they are.
  if (budget > 1) contained("watching the OpenMP spin policy", [] { OmpSpinPolicy::watch_process(); });
  set_library_threads();
}

int thread_budget() {
  if (budget == 0) set_thread_budget(available_cores());
  return budget;
}

bool start_idle_team([[maybe_unused]] int threads) {
#if !defined(ARGOSY_TSAN)  // there are no teams then
  if (team_threads(threads) < threads) return false;
  GOMP_parallel([](void*) {}, nullptr, static_cast<unsigned>(threads), 0);
#endif
  return true;
}

void release_omp_team() {
#if !defined(ARGOSY_TSAN)
  constexpr int kSoft = 1;                           // omp_pause_soft: what threads know of variables and budgets stays
  static_cast<void>(omp_pause_resource_all(kSoft));  // refused inside a loop, where nothing is to be let go
  granted = 1;
#endif
}

int library_threads() { return deterministic ? 1 : thread_budget(); }

DeterministicScope::DeterministicScope(bool on) : before_(deterministic) {
  if (on == before_) return;
  thread_budget();  // has one, from now on
  deterministic = on;
  set_library_threads();
}

DeterministicScope::~DeterministicScope() {
  if (deterministic == before_) return;
  deterministic = before_;
  set_library_threads();
}

ThreadLimit::ThreadLimit(int most) {
  const int now = thread_budget();
  if (most >= now) return;
  before_ = now;
  set_thread_budget(most);
}

ThreadLimit::~ThreadLimit() {
  if (before_ > 0) set_thread_budget(before_);
}

namespace internal {

namespace {

// What the threads of one loop share. An exception must not leave a team: the first one is carried to the caller, and
// ranges that have not begun are left out.
class Loop {
 public:
  Loop(std::int64_t n, int threads, std::int64_t block, RangeFn fn, void* body)
      : n_(n), threads_(threads), fn_(fn), body_(body), checks_throw_(CheckScope::active()) {
    const InterruptScope* const scope = InterruptScope::current();
    if (scope == nullptr) return;
    works_for_ = scope->cancellation();
    if (scope->of_blocks() != nullptr) block_ = block;
  }

  // The range of `member` in `team`. The team may be smaller than requested (OMP_THREAD_LIMIT, OMP_DYNAMIC, nested
  // teams).
  void run(std::int64_t member, std::int64_t team) noexcept {
    try {
      const CheckScope checks(checks_throw_);
      const InterruptScope scope(works_for_, block_ != 0);
      for (std::int64_t t = member; t < threads_ && !failed_.load(std::memory_order_relaxed); t += team) {
        run_range(n_ * t / threads_, n_ * (t + 1) / threads_);
      }
    } catch (...) {
      if (!failed_.exchange(true)) thrown_ = std::current_exception();
    }
  }
  // REQUIRES: every member has returned.
  void rethrow() {
    if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void run_range(std::int64_t begin, std::int64_t end) {
    if (block_ == 0) return fn_(body_, begin, end);
    for (; begin < end; begin += block_) {
      check_interrupted();
      fn_(body_, begin, std::min(end, begin + block_));
    }
  }

  const std::int64_t n_;
  const int threads_;
  const RangeFn fn_;
  void* const body_;
  const bool checks_throw_;
  const Cancellation* works_for_ = nullptr;  // that of the caller's scope
  std::int64_t block_ = 0;                   // 0: ranges are not left halfway
  std::atomic<bool> failed_{false};
  std::exception_ptr thrown_;
};

}  // namespace

bool stops_between_blocks() {
  const InterruptScope* const scope = InterruptScope::current();
  return scope != nullptr && scope->of_blocks() != nullptr;
}

void parallel_ranges(std::int64_t n, std::int64_t grain, std::int64_t block, RangeFn fn, void* body) {
  const std::int64_t useful = n / std::max<std::int64_t>(grain, 1);
  const int threads = team_threads(static_cast<int>(std::min<std::int64_t>(thread_budget(), useful)));
  Loop loop(n, threads, block, fn, body);
  if (threads == 1) {
    loop.run(0, 1);
    loop.rethrow();
    return;
  }
#if defined(ARGOSY_TSAN)
  // libgomp is not instrumented: its barriers would look like races. The same ranges on threads started for this loop
  // alone: what they should not share is seen.
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  for (int t = 1; t < threads; ++t) {
    try {
      team.emplace_back([&loop, t, threads] { loop.run(t, threads); });
    } catch (const std::system_error&) {
      loop.run(t, threads);
    }
  }
  loop.run(0, threads);
  for (std::thread& thread : team) thread.join();
#else
  GOMP_parallel([](void* data) { static_cast<Loop*>(data)->run(omp_get_thread_num(), omp_get_num_threads()); }, &loop,
                static_cast<unsigned>(threads), 0);
#endif
  loop.rethrow();
}

}  // namespace internal
}  // namespace argosy
