// SharedJob: a collective whose tensors are all in host memory. Any number of threads take blocks of it.
//
// Every rank has a range of blocks that its thread takes first. Then it takes the blocks that are left in other ranks'
// ranges. The result does not depend on which thread combines a block.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "argosy/comm/collective_job.h"

namespace argosy {

class SharedJob {
 public:
  // Calls CollectiveJob::plan() and divides the blocks. REQUIRES: no thread works on this job. Reuses its memory.
  Status plan(std::span<const CollectiveCall> calls);
  std::size_t bytes() const { return job_.bytes(); }
  // True if there are no blocks.
  bool empty() const { return job_.blocks() == 0; }

  // Takes blocks, those of `slot` (an index of the calls) first, until none is left. May use the threads of the calling
  // thread's budget, if there are spare cores. Returns true to exactly one caller, after every block is done.
  // Thread-safe.
  bool work(int slot);
  // Does all of it, on this thread.
  void work_alone();

  // Bytes below which the work ends before a sleeping thread could wake up.
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
