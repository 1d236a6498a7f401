#include "argosy/device/cuda/pinned_pool.h"

#include <utility>

namespace argosy::cuda {

std::byte* PinnedPool::take(std::size_t bytes) {
  if (bytes > kMostBytes) return nullptr;
  MutexLock lock(mutex_);
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.lent || block.bytes < bytes || (best != nullptr && best->bytes <= block.bytes)) continue;
    if (block.after != nullptr && driver_->cuEventQuery(block.after) == kCuNotReady) continue;
    best = &block;
  }
  constexpr std::size_t kSmallest = std::size_t{64} << 10;
  if (best == nullptr || best->bytes / 4 > bytes + kSmallest) {
    std::size_t size = kSmallest;
    while (size < bytes) size *= 2;
    void* data = nullptr;
    if (driver_->cuMemHostAlloc(&data, size, kCuHostPortable) == kCuSuccess) {
      blocks_.push_back({.data = static_cast<std::byte*>(data), .bytes = size});
      best = &blocks_.back();
    }
  }
  if (best == nullptr) return nullptr;
  if (best->after != nullptr) events_.put(std::exchange(best->after, nullptr));
  best->lent = true;
  return best->data;
}

void PinnedPool::put(std::byte* data, CuEvent after) {
  MutexLock lock(mutex_);
  for (Block& block : blocks_) {
    if (block.data != data) continue;
    block.lent = false;
    block.after = after;
  }
}

void PinnedPool::destroy() {
  MutexLock lock(mutex_);
  for (const Block& block : blocks_) {
    if (block.after != nullptr) driver_->cuEventDestroy_v2(block.after);
    driver_->cuMemFreeHost(block.data);
  }
  blocks_.clear();
}

}  // namespace argosy::cuda
