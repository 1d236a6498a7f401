#include "argosy/data/recycling_allocator.h"

#include <algorithm>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::data {

struct RecyclingAllocator::Shelf {
  explicit Shelf(std::size_t most) : keep(most) {}

  void put_back(Buffer buffer) {
    const MutexLock lock(mutex);
    if (!closed && free.size() < keep) {
      free.push_back(std::move(buffer));
      return;
    }
    held_bytes -= buffer.bytes();
  }

  const std::size_t keep;
  Mutex mutex;
  bool closed ARGOSY_GUARDED_BY(mutex) = false;
  std::vector<Buffer> free ARGOSY_GUARDED_BY(mutex);
  std::uint64_t held_bytes ARGOSY_GUARDED_BY(mutex) = 0;
  std::uint64_t peak_bytes ARGOSY_GUARDED_BY(mutex) = 0;
  std::uint64_t allocations ARGOSY_GUARDED_BY(mutex) = 0;
};

RecyclingAllocator::RecyclingAllocator(std::size_t keep) : shelf_(std::make_shared<Shelf>(keep)) {}
RecyclingAllocator::~RecyclingAllocator() {
  const MutexLock lock(shelf_->mutex);
  shelf_->closed = true;
  shelf_->free.clear();
}

Result<Buffer> RecyclingAllocator::allocate(std::size_t bytes) {
  Buffer memory;
  {
    const MutexLock lock(shelf_->mutex);
    ++shelf_->allocations;
    auto& free = shelf_->free;
    const auto fits = std::find_if(free.begin(), free.end(), [bytes](const Buffer& b) { return b.bytes() == bytes; });
    if (fits != free.end()) {
      memory = std::move(*fits);
      free.erase(fits);
    } else if (free.size() == shelf_->keep && !free.empty()) {
      shelf_->held_bytes -= free.front().bytes();  // of a size that is no longer asked for
      free.erase(free.begin());
    }
  }
  if (!memory.owned()) {
    ARGOSY_ASSIGN_OR_RETURN(memory, host_allocator().allocate(bytes));
    const MutexLock lock(shelf_->mutex);
    shelf_->held_bytes += bytes;
    shelf_->peak_bytes = std::max(shelf_->peak_bytes, shelf_->held_bytes);
  }
  void* data = memory.data();
  // The last owner returns the buffer under the mutex, so the next owner sees all writes to it.
  std::shared_ptr<void> owner(
      data, [shelf = shelf_, memory = std::move(memory)](void*) mutable { shelf->put_back(std::move(memory)); });
  return Buffer(std::move(owner), data, bytes);
}

MemoryStats RecyclingAllocator::stats() const {
  const MutexLock lock(shelf_->mutex);
  return {shelf_->held_bytes, shelf_->peak_bytes, 0, shelf_->allocations};
}

}  // namespace argosy::data
