// One loop over many cores, inside one kernel. Runs on the calling thread's OpenMP team, the same that oneDNN uses,
// so that the two never fight over cores. How many threads a calling thread may use is its own budget:
// a device's thread sets it once with set_thread_budget (an emulated GPU: its share of the cores).
#pragma once

#include <cstdint>

namespace argosy {

// Cores this process may really use: affinity mask and cgroup quota, at least 1.
int available_cores();

// For the calling thread, from now on: team size of parallel_for and of oneDNN.
void set_thread_budget(int threads);
int thread_budget();

// Ends the other threads of the calling thread's team; its next loop starts new ones (some 50 us). For threads that
// take turns at long work and rest in between: while the process's teams have more threads than cores, everyone in them
// waits asleep, and every loop has to wake them.
void release_omp_team();

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
// `block`: iterations of a call of `fn`, between which the running step's cancellation is looked at; 0: whole ranges.
void parallel_ranges(std::int64_t n, std::int64_t grain, std::int64_t block, RangeFn fn, void* body);
// Has the calling thread a scope (argosy/base/threads/interrupt.h) whose loops may stop between blocks?
bool stops_between_blocks();

// About 15 ms of work. What takes more than a grain's time in every iteration asks often.
constexpr std::int64_t block_of(std::int64_t grain) { return grain <= 1 ? 8 : 1024 * grain; }

template <typename Body>
void for_ranges(std::int64_t n, std::int64_t grain, std::int64_t block, Body& body) {
  parallel_ranges(
      n, grain, block, [](void* b, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(b))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}
}  // namespace internal

// body(begin, end) over disjoint ranges that cover [0, n). Every thread gets at least `grain` iterations: about 15 µs
// of work, for waking one costs that much, and several times that on a busy machine. Ranges are contiguous and the same
// for the same budget; long ones come to the body in several calls, one after the other on the same thread, and between
// those the loop ends by an exception where the step is over (argosy/base/threads/interrupt.h). The first exception of a body
// is thrown again here, after all threads have ended; ranges not begun by then are left out. The body must not call
// parallel_for on the same team.
template <typename Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= 0) return;
  const std::int64_t block = internal::block_of(grain);
  if (n < 2 * grain || (thread_budget() == 1 && (n <= block || !internal::stops_between_blocks()))) {
    body(std::int64_t{0}, n);
    return;
  }
  internal::for_ranges(n, grain, block, body);
}

// As parallel_for, but the body is called at most once on each thread of the team: for those that take memory or
// prepare something for all of their range. What may take long asks by itself.
template <typename Body>
void parallel_for_whole(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n < 2 * grain || thread_budget() == 1) {
    body(std::int64_t{0}, n);
    return;
  }
  internal::for_ranges(n, grain, 0, body);
}

}  // namespace argosy
