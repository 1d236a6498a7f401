#include "argosy/comm/shared_memory/shared_job.h"

#include <algorithm>

#include "argosy/base/threads/parallel.h"

namespace argosy {

Status SharedJob::plan(std::span<const CollectiveCall> calls) {
  ARGOSY_RETURN_IF_ERROR(job_.plan(calls));
  const std::size_t slots = calls.size(), blocks = job_.blocks();
  if (ranges_.size() != slots) ranges_ = std::vector<BlockRange>(slots);
  for (std::size_t s = 0; s < slots; ++s) {
    ranges_[s].next.store(blocks * s / slots, std::memory_order_relaxed);
    ranges_[s].end = blocks * (s + 1) / slots;
  }
  blocks_left_.store(blocks, std::memory_order_relaxed);
  return {};
}

bool SharedJob::take_blocks(std::size_t slot) {
  std::size_t done = 0;
  for (std::size_t k = 0; k < ranges_.size(); ++k) {
    BlockRange& range = ranges_[(slot + k) % ranges_.size()];
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      const std::size_t block = range.next.fetch_add(1, std::memory_order_relaxed);
      if (block >= range.end) break;
      job_.run_block(block);
      ++done;
    }
  }
  return done > 0 && blocks_left_.fetch_sub(done, std::memory_order_acq_rel) == done;
}

bool SharedJob::work(int slot) {
  const auto first = static_cast<std::size_t>(slot);
  const int threads = std::min(thread_budget(), available_cores() / static_cast<int>(ranges_.size()));
  if (threads <= 1 || job_.bytes() < kWorthWaking) return take_blocks(first);
  std::atomic<bool> last{false};
  parallel_for_whole(threads, 1, [&](std::int64_t, std::int64_t) {
    if (take_blocks(first)) last.store(true, std::memory_order_relaxed);
  });
  return last.load(std::memory_order_relaxed);
}

void SharedJob::work_alone() {
  for (std::size_t b = 0; b < job_.blocks(); ++b) job_.run_block(b);
}

}  // namespace argosy
