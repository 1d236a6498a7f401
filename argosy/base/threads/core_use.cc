#include "argosy/base/threads/core_use.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"
#include "argosy/base/system/cgroup.h"

namespace argosy {

namespace {

using std::chrono::nanoseconds;

// Lines "cpu0 user nice system idle iowait irq softirq steal ...", in ticks: what was used of the cores in the mask.
nanoseconds used_of_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {};
  const long per_second = sysconf(_SC_CLK_TCK);
  std::int64_t ticks = 0;
  const std::string text = read_small_file("/proc/stat");
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    int core = 0;
    long long user = 0, nice = 0, system = 0;
    // "cpu  ", the sum of all, is followed by the first core's line: a number is to come at once.
    if (text.compare(at, 3, "cpu") != 0 || at + 3 >= text.size() || text[at + 3] < '0' || text[at + 3] > '9') continue;
    if (std::sscanf(text.c_str() + at, "cpu%d %lld %lld %lld", &core, &user, &nice, &system) != 4) continue;
    if (core < CPU_SETSIZE && CPU_ISSET(core, &mask)) ticks += user + nice + system;
  }
  return nanoseconds(ticks * (1'000'000'000 / std::max(per_second, 1L)));
}

// "on a core, waiting for one, times": nanoseconds of each thread.
nanoseconds delayed_threads() {
  std::int64_t sum = 0;
  // Not std::filesystem's iterator: it ends the process where it has no memory.
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* const task = tasks != nullptr ? ::readdir(tasks.get()) : nullptr) {
    long long delayed = 0;
    const std::string text = read_small_file(str_cat("/proc/self/task/", task->d_name, "/schedstat"));
    if (std::sscanf(text.c_str(), "%*d %lld", &delayed) == 1) sum += delayed;
  }
  return nanoseconds(sum);
}

}  // namespace

nanoseconds process_time() {
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return std::chrono::seconds(own.tv_sec) + nanoseconds(own.tv_nsec);
}

CoreUseMeter::CoreUseMeter() : last_(totals()) {}

CoreUseMeter::Totals CoreUseMeter::totals() {
  return {
      .when = nanoseconds(now_nanos()), .own = process_time(), .all = used_of_cores(), .delayed = delayed_threads()};
}

CoreUse CoreUseMeter::read() {
  const Totals before = last_;
  last_ = totals();
  const double time = std::max(1.0, static_cast<double>((last_.when - before.when).count()));
  const auto part = [&](nanoseconds from, nanoseconds to) {
    return std::max(0.0, static_cast<double>((to - from).count()) / time);  // threads that ended take theirs along
  };
  CoreUse use{.own = part(before.own, last_.own), .delayed = part(before.delayed, last_.delayed)};
  use.others = std::max(0.0, part(before.all, last_.all) - use.own);
  return use;
}

bool ContentionDetector::detect(const CoreUse& use) {
  // A quarter of a core is more than what runs for a moment now and then; a twentieth of waiting more than chance.
  constexpr double kOthers = 0.25, kDelayed = 0.05;
  // Others that share the cores and those that alternate with us look alike while nobody waits awake: after so many
  // intervals one that is contended finds out anew.
  constexpr int kAnew = 60;
  ++since_;
  const bool others = use.others >= spare_ + kOthers;
  const bool now = contended_ ? others && since_ < kAnew : others && use.delayed >= kDelayed;
  if (now != contended_) since_ = 0;
  return contended_ = now;
}

}  // namespace argosy
