#include "argosy/base/core_use.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include "argosy/base/cgroup.h"
#include "argosy/base/clock.h"

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
  std::istringstream lines(read_small_file("/proc/stat"));
  for (std::string line; std::getline(lines, line);) {
    int core = 0;
    long long user = 0, nice = 0, system = 0;
    if (std::sscanf(line.c_str(), "cpu%d %lld %lld %lld", &core, &user, &nice, &system) != 4) continue;
    if (core < CPU_SETSIZE && CPU_ISSET(core, &mask)) ticks += user + nice + system;
  }
  return nanoseconds(ticks * (1'000'000'000 / std::max(per_second, 1L)));
}

// "on a core, waiting for one, times": nanoseconds of each thread.
nanoseconds delayed_threads() {
  std::int64_t sum = 0;
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    long long delayed = 0;
    const std::string text = read_small_file(task->path().string() + "/schedstat");
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

bool CrowdJudge::judge(const CoreUse& use) {
  // A quarter of a core is more than what runs for a moment now and then; a twentieth of waiting more than chance.
  constexpr double kOthers = 0.25, kDelayed = 0.05;
  // Others that share the cores and those that alternate with us look alike while nobody waits awake: after so many
  // intervals one that is crowded finds out anew.
  constexpr int kAnew = 60;
  ++since_;
  const bool others = use.others >= spare_ + kOthers;
  const bool now = crowded_ ? others && since_ < kAnew : others && use.delayed >= kDelayed;
  if (now != crowded_) since_ = 0;
  return crowded_ = now;
}

}  // namespace argosy
