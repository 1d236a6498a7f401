// Looks at what the threads of one launch do to memory, access by access (watched.cc), and says what a GPU may not
// forgive:
//
//   * two threads at the same bytes, one of them writing, with nothing that orders the two. Order is made by
//     __syncthreads between threads of a block and by __syncwarp between lanes of a warp, by nothing else: not by a
//     shuffle, and never between blocks. Atomic operations do not collide with each other.
//   * memory outside of every allocation that the GPU can reach, or of the host.
//   * shared memory read before a thread of the block wrote it.
//   * addresses without the alignment of what is found there.
//
// What is found does not depend on the order in which the threads happened to run. Of every byte the last write and two
// readers are kept, the most different ones: a write that collides with any reader of this launch collides with one of
// those. Launches are taken to be ordered: what lies between streams is the fake driver's to see.
// One OS thread at a time.
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

// Shadow memory, kept from launch to launch.
class Shadow;

class Watch {
 public:
  // `memory`: what the launch may touch, in the order of addresses.
  explicit Watch(std::vector<Range> memory);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // --- of the runner -------------------------------------------------------------------------------------------------

  // `thread_local` variables of the kernels' object are the block's shared memory, what it maps besides is constant.
  void begin(const Kernel& kernel, unsigned threads_of_block);
  void begin_block(std::uint64_t block);
  void synced();
  void synced_warp(unsigned warp);
  void touched(unsigned thread, Range stack, const void* at, std::size_t bytes, Access access, const void* code);
  void misaligned(unsigned thread, const void* at, const char* file, unsigned line, unsigned alignment);
  // A shuffle asks a lane that does not take part.
  void lane_missing(unsigned thread, unsigned lane);

  // What was wrong, each place of the code once. Code is given as offsets of the object, for addr2line.
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
