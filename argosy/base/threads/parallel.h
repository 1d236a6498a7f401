// parallel_for: one loop over many cores, inside one kernel. It runs on the calling thread's OpenMP team, which oneDNN
// uses too, so that the two do not compete for cores. Each calling thread has its own thread budget. A device's thread
// sets it once (an emulated GPU: its part of the cores).
#pragma once

#include <cstdint>

namespace argosy {

// The cores that this process may use: affinity mask and cgroup quota, at least 1.
int available_cores();

// Sets the team size of parallel_for and oneDNN for the calling thread.
void set_thread_budget(int threads);
int thread_budget();

// Ends the other threads of the calling thread's team; its next loop starts new ones (about 50 us). For threads that
// alternate between long work and rest. While the teams of the process have more threads than cores, all their threads
// wait asleep, and every loop has to wake them.
void release_omp_team();

// Limits the calling thread's budget to `most` while it lives. For calls, oneDNN's included, whose work is less than
// the cost of waking a team. Costs a few nanoseconds.
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
// `block`: iterations in a call of `fn`; the cancellation of the running step is tested between calls. 0: whole ranges.
void parallel_ranges(std::int64_t n, std::int64_t grain, std::int64_t block, RangeFn fn, void* body);
// Whether the calling thread has a scope (argosy/base/threads/interrupt.h) that lets loops stop between blocks.
bool stops_between_blocks();

// The iterations of a block: about 15 ms of work. A grain of 1 marks slow iterations, which use blocks of 8.
constexpr std::int64_t block_of(std::int64_t grain) { return grain <= 1 ? 8 : 1024 * grain; }

template <typename Body>
void for_ranges(std::int64_t n, std::int64_t grain, std::int64_t block, Body& body) {
  parallel_ranges(
      n, grain, block, [](void* b, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(b))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}
}  // namespace internal

// Calls body(begin, end) over disjoint ranges that cover [0, n).
// * `grain`: the least iterations of a thread. Choose about 15 µs of work: waking a thread costs that, and several
//   times that on a busy machine.
// * Ranges are contiguous, and the same for the same budget.
// * A long range comes in several calls, one after another on the same thread. Between them the loop throws Interrupted
//   when the step is over (argosy/base/threads/interrupt.h).
// * The first exception of a body is thrown again here after all threads have ended; ranges not begun by then are
//   skipped.
// * The body must not call parallel_for on the same team.
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

// As parallel_for, but calls the body at most once on each thread of the team: for bodies that allocate or prepare for
// their whole range. A body that takes long calls check_interrupted() itself.
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
