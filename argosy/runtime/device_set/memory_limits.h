// MemoryLimits: limits below a device's own, for views of a device set (device_set_view.h). Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/tensor/buffer.h"

namespace argosy {

// Memory of another allocator, up to a limit.
class CappedAllocator final : public Allocator {
 public:
  // `owner` names the device in errors. `from` must outlive it.
  CappedAllocator(std::string owner, Allocator& from, std::uint64_t limit_bytes);
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override;
  void trim() override { from_.trim(); }
  bool on_host() const override { return from_.on_host(); }
  Status copy_within(void* to, const void* from, std::size_t bytes) override {
    return from_.copy_within(to, from, bytes);
  }
  Status copy_out(void* to, const void* from, std::size_t bytes) override { return from_.copy_out(to, from, bytes); }

 private:
  struct Use {
    std::atomic<std::uint64_t> bytes{0}, peak{0}, allocations{0};
  };
  const std::string owner_;
  Allocator& from_;
  const std::uint64_t limit_;
  const std::shared_ptr<Use> use_ = std::make_shared<Use>();
};

// The caps of a device set's views. A cap outlives its view, because variables allocated under it do; the next view of
// the same device and size takes it over.
class MemoryLimits {
 public:
  CappedAllocator* take(int device, std::uint64_t limit_bytes, const std::string& owner, Allocator& from);
  void give_back(int device, std::uint64_t limit_bytes, CappedAllocator* cap);

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<CappedAllocator>> all_ ARGOSY_GUARDED_BY(mutex_);
  std::multimap<std::pair<int, std::uint64_t>, CappedAllocator*> free_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
