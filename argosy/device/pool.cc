#include "argosy/device/pool.h"

#include <algorithm>
#include <new>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/block_cache.h"
#include "argosy/device/pages.h"

namespace argosy {

namespace {

constexpr std::uint64_t kAlwaysKept = std::uint64_t{64} << 20;

}  // namespace

class PoolAllocator::Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(std::string owner, std::uint64_t limit, std::string cap_name)
      : owner_(std::move(owner)), cap_name_(std::move(cap_name)), limit_(limit) {}

  Result<Buffer> allocate(std::size_t bytes);
  MemoryStats stats() const;
  std::uint64_t held() const;
  void trim();
  void close();
  void fail_allocation(std::int64_t nth);

 private:
  using Block = BlockCache::Block;

  // Places a shared_ptr's reference count inside the block. When shared_ptr frees the count, the block is free again.
  template <typename T>
  struct CountAllocator {
    using value_type = T;
    explicit CountAllocator(Block* b) : block(b) {}
    template <typename U>
    explicit CountAllocator(const CountAllocator<U>& other) : block(other.block) {}
    T* allocate(std::size_t) {
      static_assert(sizeof(T) <= sizeof(Block::count) && alignof(T) <= alignof(std::max_align_t));
      return reinterpret_cast<T*>(block->count);
    }
    void deallocate(T*, std::size_t) {
      const std::shared_ptr<void> pool = std::move(block->pool);
      static_cast<Pool*>(pool.get())->free(block);
    }
    Block* block;
  };
  struct NothingToDelete {
    void operator()(void*) const {}
  };

  Status refuse(std::size_t bytes, std::string_view why) const ARGOSY_REQUIRES(mutex_);
  void free(Block* block);

  const std::string owner_, cap_name_;
  const std::uint64_t limit_;

  mutable Mutex mutex_;
  std::uint64_t in_use_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t peak_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t allocations_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t fail_in_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;  // nobody will allocate again: keep nothing
  Block* live_blocks_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  BlockCache blocks_ ARGOSY_GUARDED_BY(mutex_);
};

Result<Buffer> PoolAllocator::Pool::allocate(std::size_t bytes) {
  MutexLock lock(mutex_);
  ++allocations_;
  if (fail_in_ > 0) {
    --fail_in_;
    if (fail_in_ == 0) return refuse(bytes, "injected fault, ");
  }
  if (bytes > (std::size_t{1} << 50) || (limit_ != 0 && (bytes > limit_ || in_use_ > limit_ - bytes))) {
    return refuse(bytes, "");
  }
  Block* block = nullptr;
  try {
    block = blocks_.take(bytes, limit_);
  } catch (const std::bad_alloc&) {
    block = nullptr;  // no room for the bookkeeping: the system has none left
  }
  if (block == nullptr) {
    return resource_exhausted("memory of ", owner_, ": ", format_bytes(bytes), " (", bytes,
                              " B) refused by the system, ", format_bytes(in_use_), " in use")
        .with_id("ARG-MEM-002")
        .with_hint("a smaller --batch, or fewer programs beside this one");
  }
  block->bytes = bytes;
  block->previous = nullptr;
  block->next = live_blocks_;
  if (live_blocks_ != nullptr) live_blocks_->previous = block;
  live_blocks_ = block;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  unpoison_memory(block->data, bytes);
  block->pool = shared_from_this();
  return Buffer(std::shared_ptr<void>(block->data, NothingToDelete{}, CountAllocator<std::byte>(block)), block->data,
                bytes);
}

Status PoolAllocator::Pool::refuse(std::size_t bytes, std::string_view why) const {
  std::vector<std::size_t> sizes;
  for (const Block* b = live_blocks_; b != nullptr; b = b->next) sizes.push_back(b->bytes);
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(kShown, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(shown), sizes.end(), std::greater<>());
  std::vector<std::string> largest;
  for (std::size_t i = 0; i < shown; ++i) largest.push_back(format_bytes(sizes[i]));
  const std::uint64_t unused = limit_ > in_use_ ? limit_ - in_use_ : 0;
  std::string text = str_cat("memory of ", owner_, ": ", why, format_bytes(bytes), " (", bytes, " B) requested, ",
                             format_bytes(in_use_), " in use, limit ", format_bytes(limit_), ", ", format_bytes(unused),
                             " (", unused, " B) free");
  if (shown > 0) text += str_cat("; largest of ", sizes.size(), " live: ", str_join(largest));
  return resource_exhausted(text)
      .with_id("ARG-MEM-001")
      .with_hint("a smaller --batch, or a higher cap: --mem " + (cap_name_.empty() ? owner_ : cap_name_) + "=SIZE");
}

void PoolAllocator::Pool::free(Block* block) {
  MutexLock lock(mutex_);
  (block->previous != nullptr ? block->previous->next : live_blocks_) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  in_use_ -= block->bytes;
  blocks_.put(block, closed_ ? 0 : std::max(peak_, kAlwaysKept));
}

void PoolAllocator::Pool::trim() {
  MutexLock lock(mutex_);
  blocks_.trim();
}

void PoolAllocator::Pool::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  trim();
}

MemoryStats PoolAllocator::Pool::stats() const {
  MutexLock lock(mutex_);
  return {in_use_, peak_, limit_, allocations_};
}

std::uint64_t PoolAllocator::Pool::held() const {
  MutexLock lock(mutex_);
  return blocks_.held();
}

void PoolAllocator::Pool::fail_allocation(std::int64_t nth) {
  MutexLock lock(mutex_);
  fail_in_ = nth;
}

PoolAllocator::PoolAllocator(std::string owner, std::uint64_t limit_bytes, std::string cap_name)
    : pool_(std::make_shared<Pool>(std::move(owner), limit_bytes, std::move(cap_name))) {}
PoolAllocator::~PoolAllocator() { pool_->close(); }
Result<Buffer> PoolAllocator::allocate(std::size_t bytes) { return pool_->allocate(bytes); }
MemoryStats PoolAllocator::stats() const { return pool_->stats(); }
void PoolAllocator::trim() { pool_->trim(); }
std::uint64_t PoolAllocator::held_bytes() const { return pool_->held(); }
void PoolAllocator::fail_allocation(std::int64_t nth) { pool_->fail_allocation(nth); }

}  // namespace argosy
