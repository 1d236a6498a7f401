// PinnedPool: blocks of pinned host memory, the staging memory of copies, kept for reuse. Thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/cuda/event_pool.h"

namespace argosy::cuda {

class PinnedPool {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of one block

  // Both outlive the pool. Events of finished copies go to `events`.
  PinnedPool(const Driver& driver, EventPool& events) : driver_(driver), events_(events) {}

  // A block of at least `bytes`. Null: the system refuses, or bytes > kMostBytes. REQUIRES: the context is current.
  std::byte* take(std::size_t bytes);
  // Gives a block back, to be reused once `after` is reached (null: at once). Takes ownership of the event.
  void put(std::byte* block, CuEvent after = nullptr);
  // Frees all blocks. REQUIRES: the context is current, and no copy uses a block.
  void destroy();

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool lent = false;
    CuEvent after = nullptr;
  };

  const Driver& driver_;
  EventPool& events_;
  Mutex mutex_;
  std::vector<Block> blocks_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
