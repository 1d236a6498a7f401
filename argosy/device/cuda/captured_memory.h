// CapturedMemory: the memory of one capture of a CUDA graph. Its addresses are part of the graph. So memory freed
// during the capture may be reused within it, but not returned to the driver. Not thread-safe: DeviceMemory protects
// it.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "argosy/device/cuda/driver/driver_api.h"

namespace argosy::cuda {

class CapturedMemory {
 public:
  // Notes an allocation of the capturing thread.
  void add(CuPointer pointer, std::size_t bytes) { live_[pointer] = bytes; }
  // Returns memory that the capturing thread freed, if it is at most twice as large as `bytes` (rounded); 0: none.
  CuPointer reuse(std::size_t bytes) {
    const auto fits = free_.lower_bound(bytes);
    if (fits == free_.end() || fits->first / 2 > bytes) return 0;
    const CuPointer pointer = fits->second;
    live_[pointer] = fits->first;
    free_.erase(fits);
    return pointer;
  }
  // Frees memory. Memory allocated in the capture is free for reuse. Other memory may be read by the graph, so it is
  // freed after the first replay.
  void free(CuPointer pointer) {
    const auto found = live_.find(pointer);
    if (found == live_.end()) return later_.push_back(pointer);
    free_.emplace(found->second, pointer);
    live_.erase(found);
  }
  // A pinned block that the graph reads.
  void keep(std::byte* pinned) { pinned_.push_back(pinned); }

  // The result of the capture: what the owner of the graph must keep (freed, pinned), and what is to be freed after the
  // first replay (later).
  const std::multimap<std::size_t, CuPointer>& freed() const { return free_; }
  const std::vector<std::byte*>& pinned() const { return pinned_; }
  const std::vector<CuPointer>& later() const { return later_; }

 private:
  std::map<CuPointer, std::size_t> live_;  // with sizes
  std::multimap<std::size_t, CuPointer> free_;
  std::vector<CuPointer> later_;
  std::vector<std::byte*> pinned_;
};

}  // namespace argosy::cuda
