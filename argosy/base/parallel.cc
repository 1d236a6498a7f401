#include "argosy/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/cgroup.h"
#include "argosy/base/library_threads.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/team_waits.h"

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
thread_local bool same_bits = false;

void tell_libraries() {
#if !defined(ARGOSY_TSAN)
  omp_set_num_threads(same_bits ? 1 : budget);
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
  budget = std::max(threads, 1);
  if (budget > 1) TeamWaits::watch_process();
  tell_libraries();
}

int thread_budget() {
  if (budget == 0) set_thread_budget(available_cores());
  return budget;
}

void let_team_go() {
#if !defined(ARGOSY_TSAN)
  constexpr int kSoft = 1;                           // omp_pause_soft: what threads know of variables and budgets stays
  static_cast<void>(omp_pause_resource_all(kSoft));  // refused inside a loop, where nothing is to be let go
#endif
}

int library_threads() { return same_bits ? 1 : thread_budget(); }

SameBits::SameBits(bool on) : before_(same_bits) {
  if (on == before_) return;
  thread_budget();  // has one, from now on
  same_bits = on;
  tell_libraries();
}

SameBits::~SameBits() {
  if (same_bits == before_) return;
  same_bits = before_;
  tell_libraries();
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

void parallel_ranges(std::int64_t n, std::int64_t grain, RangeFn fn, void* body) {
  const std::int64_t useful = n / std::max<std::int64_t>(grain, 1);
  const int threads = static_cast<int>(std::min<std::int64_t>(thread_budget(), useful));
#if defined(ARGOSY_TSAN)
  // libgomp is not instrumented: its barriers would look like races. The same ranges on threads started for this loop
  // alone: what they should not share is seen.
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  for (std::int64_t t = 1; t < threads; ++t) {
    team.emplace_back(fn, body, n * t / threads, n * (t + 1) / threads);
  }
  fn(body, 0, n / threads);
  for (std::thread& thread : team) thread.join();
#else
  struct Loop {
    std::int64_t n;
    int threads;
    RangeFn fn;
    void* body;
  } loop{n, threads, fn, body};
  GOMP_parallel(
      [](void* data) {
        const Loop& l = *static_cast<const Loop*>(data);
        // The team may be smaller than asked for: OMP_THREAD_LIMIT, OMP_DYNAMIC, a team around this one.
        const std::int64_t team = omp_get_num_threads();
        for (std::int64_t t = omp_get_thread_num(); t < l.threads; t += team) {
          l.fn(l.body, l.n * t / l.threads, l.n * (t + 1) / l.threads);
        }
      },
      &loop, static_cast<unsigned>(threads), 0);
#endif
}

}  // namespace internal
}  // namespace argosy
