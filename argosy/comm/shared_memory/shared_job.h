// SharedJob: a collective whose tensors are all in the host's memory. Any threads take blocks of it, in any number.
//
// Every rank has a range of blocks that its thread takes first. Then it takes those of ranks that are late. The result
// never depends on which thread did what.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "argosy/comm/collective_job.h"

namespace argosy {

class SharedJob {
 public:
  // CollectiveJob::plan(). Alone: no thread works yet. Keeps its memory from one call to the next.
  Status plan(std::span<const CollectiveCall> calls);
  std::size_t bytes() const { return job_.bytes(); }
  // Nothing is to do.
  bool empty() const { return job_.blocks() == 0; }

  // Takes blocks, those of `slot` (an index of the calls) first, until none is left. Threads that the calling one may
  // use help, where cores are left over. True for exactly one caller: by then every block is done. Thread-safe.
  bool work(int slot);
  // Does all of it, on this thread.
  void work_alone();

  // Below so many bytes the work is done before a sleeping thread is awake.
  static constexpr std::size_t kWorthWaking = std::size_t{1} << 20;

 private:
  struct alignas(64) BlockRange {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  bool take_blocks(std::size_t slot);

  CollectiveJob job_;
  std::vector<BlockRange> ranges_;  // by slot
  alignas(64) std::atomic<std::size_t> blocks_left_{0};
};

}  // namespace argosy
