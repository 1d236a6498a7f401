// Watch: checks the memory accesses of one launch (watched.cc) and reports what a GPU may not allow:
//
// * A race: two threads access the same bytes, one of them writes, and nothing orders the two. Only __syncthreads
//   (between threads of a block) and __syncwarp (between lanes of a warp) order accesses. A shuffle does not, and
//   nothing orders two blocks. Atomic operations do not race with each other.
// * An access outside of all allocations that the GPU can reach, or to host memory.
// * Shared memory read before a thread of the block wrote it.
// * An address without the alignment of its object.
//
// The reports do not depend on the order in which the threads ran. For every byte Watch keeps the last write and two
// readers, as different as possible. A write that races with any reader of the launch races with one of those. Watch
// takes launches as ordered; the fake driver checks the order between streams. One OS thread at a time.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/device/cuda/fake/on_host.h"

namespace argosy::on_host {

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

// Shadow memory; reused from launch to launch.
class Shadow;

class Watch {
 public:
  // `memory`: the ranges that the launch may access, in the order of addresses.
  explicit Watch(std::vector<Range> memory);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // --- of the runner -------------------------------------------------------------------------------------------------

  // `thread_local` variables of the kernels' object are the shared memory of the block; its other mapped data are
  // constant.
  void begin(const Kernel& kernel, unsigned threads_of_block);
  void begin_block(std::uint64_t block);
  void synced();
  void synced_warp(unsigned warp);
  void touched(unsigned thread, Range stack, const void* at, std::size_t bytes, Access access, const void* code);
  void misaligned(unsigned thread, const void* at, const char* file, unsigned line, unsigned alignment);
  // A shuffle reads a lane that does not take part.
  void lane_missing(unsigned thread, unsigned lane);

  // The reports, one for each place in the code. A place is an offset into the object, for addr2line.
  const std::vector<std::string>& found() const { return found_; }

 private:
  struct Object;

  const Range* find(std::uintptr_t at);
  void look(unsigned thread, std::uintptr_t at, std::size_t bytes, Access access, const void* code, bool shared);
  void outside(unsigned thread, std::uintptr_t at, std::size_t bytes, Access access, const void* code);
  void find_object(const void* inside);
  void report(const std::string& place, const std::string& what);
  std::string code_at(std::uint32_t offset) const;
  std::string thread_name(std::uint64_t block, unsigned thread) const;

  const std::vector<Range> memory_;
  std::size_t last_ = 0;  // of memory_, where the last access was
  Shadow& shadow_;
  std::unique_ptr<Object> object_;
  std::uint64_t block_ = 0;
  std::uint32_t epoch_ = 0;                 // barriers of the block so far
  std::vector<std::uint32_t> warp_epochs_;  // those of each warp since
  std::set<std::string> places_;
  std::vector<std::string> found_;
};

}  // namespace argosy::on_host
