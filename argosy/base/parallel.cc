#include "argosy/base/parallel.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "argosy/base/cgroup.h"
#include "argosy/base/library_threads.h"
#include "argosy/base/sanitizers.h"

// libgomp's own entry points (a stable ABI): the team is GNU's, whatever compiler builds us, because oneDNN's is.
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
void omp_set_num_threads(int threads);
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

#if !defined(ARGOSY_TSAN)
// Do other programs have something to run, most of the time? Looked at a few times over some milliseconds: a glance
// would also meet what runs for a moment.
bool others_want_cores() {
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // "0.10 0.20 0.30 3/512 12345": threads of the machine that run or want to, this process's among them.
    int running = 0;
    if (std::sscanf(read_small_file("/proc/loadavg").c_str(), "%*f %*f %*f %d/", &running) != 1) return false;
    int ours = 0;
    std::error_code error;
    std::filesystem::directory_iterator task("/proc/self/task", error);
    for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
      const std::string stat = read_small_file(task->path().string() + "/stat");
      const std::size_t state = stat.rfind(") ");
      ours += state != std::string::npos && state + 2 < stat.size() && stat[state + 2] == 'R' ? 1 : 0;
    }
    if (error || running <= ours) return false;
  }
  return true;
}
#endif

// A thread of libgomp's that waits for work spins for 300,000 turns (milliseconds) before it sleeps, but for 1,000
// (about what waking it costs) once there are more threads in teams than cores. Spinning for long is ruinous where
// another program wants a core: whoever spins uses up its share, and is then off its core when a team needs it (two
// cores ran 15 times slower than one beside two compilers). So there is one team more than needed, of a thread that
// sleeps for good and its one helper.
void keep_waiting_short() {
#if !defined(ARGOSY_TSAN)
  static const bool once = [] {
    // On a quiet machine long spinning is the faster way (MLP of batch 128 on two cores: 0.7 ms against 1.1 ms).
    if (!others_want_cores()) return true;
    try {
      std::thread([] {
        GOMP_parallel([](void*) {}, nullptr, 2, 0);
        for (;;) pause();
      }).detach();
    } catch (const std::system_error&) {  // no thread to be had: waiting stays long
    }
    return true;
  }();
  static_cast<void>(once);
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
  if (budget > 1) keep_waiting_short();
  tell_libraries();
}

int thread_budget() {
  if (budget == 0) set_thread_budget(available_cores());
  return budget;
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
