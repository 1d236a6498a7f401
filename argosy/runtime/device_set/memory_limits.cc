#include "argosy/runtime/device_set/memory_limits.h"

namespace argosy {

CappedAllocator::CappedAllocator(std::string owner, Allocator& from, std::uint64_t limit_bytes)
    : owner_(std::move(owner)), from_(from), limit_(limit_bytes) {}

Result<Buffer> CappedAllocator::allocate(std::size_t bytes) {
  const std::uint64_t before = use_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes > limit_) {
    use_->bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return resource_exhausted(owner_, ": ", format_bytes(bytes), " asked for, ", format_bytes(before),
                              " of this session's ", format_bytes(limit_), " in use")
        .with_id("ARG-MEM-001")
        .with_hint("a smaller batch, or a larger share of the device for this session");
  }
  auto buffer = from_.allocate(bytes);
  if (!buffer.ok()) {
    use_->bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return buffer;
  }
  use_->allocations.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t peak = use_->peak.load(std::memory_order_relaxed);
  while (before + bytes > peak && !use_->peak.compare_exchange_weak(peak, before + bytes, std::memory_order_relaxed)) {
  }
  std::shared_ptr<void> owner(buffer->data(), [use = use_, bytes, inner = buffer->owner()](void*) mutable {
    inner.reset();
    use->bytes.fetch_sub(bytes, std::memory_order_relaxed);
  });
  return Buffer(std::move(owner), buffer->data(), buffer->bytes());
}

MemoryStats CappedAllocator::stats() const {
  return {.in_use_bytes = use_->bytes.load(std::memory_order_relaxed),
          .peak_bytes = use_->peak.load(std::memory_order_relaxed),
          .limit_bytes = limit_,
          .allocations = use_->allocations.load(std::memory_order_relaxed)};
}

CappedAllocator* MemoryLimits::take(int device, std::uint64_t limit_bytes, const std::string& owner, Allocator& from) {
  MutexLock lock(mutex_);
  const auto found = free_.find({device, limit_bytes});
  if (found != free_.end()) {
    CappedAllocator* const cap = found->second;
    free_.erase(found);
    return cap;
  }
  return all_.emplace_back(std::make_unique<CappedAllocator>(owner, from, limit_bytes)).get();
}

void MemoryLimits::give_back(int device, std::uint64_t limit_bytes, CappedAllocator* cap) {
  MutexLock lock(mutex_);
  free_.emplace(std::pair{device, limit_bytes}, cap);
}

}  // namespace argosy
