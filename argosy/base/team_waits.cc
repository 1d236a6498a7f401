#include "argosy/base/team_waits.h"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "argosy/base/cgroup.h"
#include "argosy/base/parallel.h"
#include "argosy/base/sanitizers.h"

// libgomp's own entry point (a stable ABI).
extern "C" void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);

namespace argosy {

namespace {

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

// Time on cores that this process has used.
std::chrono::nanoseconds process_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

TeamWaits::TeamWaits(std::function<bool()> crowded, std::chrono::milliseconds interval)
    : crowded_(std::move(crowded)), interval_(interval) {
  const bool now = crowded_();
  MutexLock lock(mutex_);
  set(now);
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no thread to be had: waits stay as they are
  }
}

TeamWaits::~TeamWaits() {
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  MutexLock lock(mutex_);
  set(false);
}

bool TeamWaits::are_short() const {
  MutexLock lock(mutex_);
  return short_;
}

void TeamWaits::watch() {
  std::chrono::nanoseconds used = process_time();
  MutexLock lock(mutex_);
  while (!over_) {
    const auto next = std::chrono::steady_clock::now() + interval_;
    while (!over_ && changed_.wait_until(mutex_, next)) {
    }
    if (over_) return;
    const std::chrono::nanoseconds before = std::exchange(used, process_time());
    if (used - before < interval_ / 20) continue;  // teams of a process that rests do not wait at all
    mutex_.unlock();
    const bool now = crowded_();
    mutex_.lock();
    set(now);
  }
}

void TeamWaits::set(bool are_short) {
  if (are_short == short_) return;
  if (are_short) {
    try {
      spare_ = std::thread([this] {
#if !defined(ARGOSY_TSAN)  // there are no teams then
        GOMP_parallel([](void*) {}, nullptr, 2, 0);
#endif
        {
          MutexLock lock(mutex_);
          while (short_ && !over_) changed_.wait(mutex_);
        }
        let_team_go();
      });
    } catch (const std::system_error&) {  // no thread to be had: waits stay long
      return;
    }
    short_ = true;
    return;
  }
  short_ = false;
  changed_.notify_all();
  mutex_.unlock();
  spare_.join();
  mutex_.lock();
}

void TeamWaits::watch_process() {
#if !defined(ARGOSY_TSAN)
  // Never destroyed: teams compute until the very end.
  static const TeamWaits* const waits = new TeamWaits(others_want_cores, std::chrono::milliseconds(500));
  static_cast<void>(waits);
#endif
}

}  // namespace argosy
