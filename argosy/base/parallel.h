// One loop over many cores, inside one kernel. Runs on the calling thread's OpenMP team, the same that oneDNN uses,
// so that the two never fight over cores. How many threads a calling thread may use is its own budget:
// a device's thread sets it once with set_thread_budget (an emulated GPU: its share of the cores).
#pragma once

#include <cstdint>
#include <type_traits>

namespace argosy {

// Cores this process may really use: affinity mask and cgroup quota, at least 1.
int available_cores();

// For the calling thread, from now on: team size of parallel_for and of oneDNN.
void set_thread_budget(int threads);
int thread_budget();

// Ends the other threads of the calling thread's team; its next loop starts new ones (some 50 us). For threads that
// take turns at long work and rest in between: while the process's teams have more threads than cores, everyone in them
// waits asleep, and every loop has to wake them.
void let_team_go();

// Within a scope, the calling thread's budget is at most this: for calls whose work a team's waking would outweigh,
// oneDNN's among them. Costs a few nanoseconds.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 0;  // 0: nothing was changed
};

namespace internal {
using RangeFn = void (*)(void* body, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t n, std::int64_t grain, RangeFn fn, void* body);
}  // namespace internal

// body(begin, end) over disjoint ranges that cover [0, n). Every thread gets at least `grain` iterations: about 15 µs
// of work, for waking one costs that much, and several times that on a busy machine. Ranges are contiguous and the same
// for the same budget. The first exception of a body is thrown again here, after all threads have ended; ranges not begun
// by then are left out. The body must not call parallel_for on the same team.
template <typename Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n < 2 * grain || thread_budget() == 1) {
    body(std::int64_t{0}, n);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  internal::parallel_ranges(
      n, grain, [](void* b, std::int64_t begin, std::int64_t end) { (*static_cast<Plain*>(b))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace argosy
