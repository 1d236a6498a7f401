// Arenas: the planned memory of one device's steps, lent to a run and taken back at its end. Steps that do not run at
// the same time share it, so a device holds the largest of them, not their sum. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/tensor/buffer.h"

namespace argosy {

class Arenas {
 public:
  // `allocator` must outlive this.
  explicit Arenas(Allocator& allocator) : allocator_(allocator) {}
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  // Returns an arena of at least `bytes`, the first of these that there is:
  //   - the one at `last` (where the same step ran before; may be null), if it is idle and large enough: then the
  //     step's tensors stay where they are;
  //   - the smallest idle one that fits;
  //   - a new one, which replaces the largest idle one.
  // RESOURCE_EXHAUSTED when the device has no room for it.
  Result<Buffer> lend(std::size_t bytes, const std::byte* last);
  // REQUIRES: lend() gave it.
  void take_back(Buffer arena);

  // Makes steps with small arenas share them, too: for a device set whose steps run one at a time, as a trainer's do.
  // Otherwise each step keeps its own. That is faster, but the device holds all of them beside the largest.
  void share_small() { shares_small_.store(true, std::memory_order_relaxed); }
  bool shares_small() const { return shares_small_.load(std::memory_order_relaxed); }

  // Bytes of arenas that no run holds.
  std::size_t idle_bytes() const;
  // Gives idle arenas back to the allocator.
  void trim();

 private:
  Allocator& allocator_;
  std::atomic<bool> shares_small_{false};
  mutable Mutex mutex_;
  std::vector<Buffer> idle_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
