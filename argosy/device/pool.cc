#include "argosy/device/pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <new>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/pages.h"

namespace argosy {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmall = std::size_t{64} << 10;        // up to here blocks are cut from chunks
constexpr std::size_t kFirstChunk = std::size_t{256} << 10;  // chunks double up to kLastChunk
constexpr std::size_t kLastChunk = std::size_t{2} << 20;
constexpr std::uint64_t kAlwaysKept = std::uint64_t{64} << 20;

// Sizes are rounded up to eight steps per doubling, so that at most an eighth of a block is unused.
constexpr int kStepsPerDoubling = 8;
constexpr int kBuckets = kStepsPerDoubling * 50;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

struct Bucket {
  int index;
  std::size_t capacity;
};
// REQUIRES: bytes <= 2^50.
Bucket bucket_of(std::size_t bytes) {
  const std::size_t lines = std::max<std::size_t>(round_up(bytes, kBufferAlignment) / kBufferAlignment, 1);
  if (lines <= kStepsPerDoubling) return {static_cast<int>(lines) - 1, lines * kBufferAlignment};
  const int shift = std::bit_width(lines - 1) - 4;                             // the step is 2^shift lines
  const std::size_t steps = (lines + (std::size_t{1} << shift) - 1) >> shift;  // 9 to 16
  return {static_cast<int>(kStepsPerDoubling * shift + steps) - 1, (steps << shift) * kBufferAlignment};
}

}  // namespace

class PoolAllocator::Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(std::string owner, std::uint64_t limit, std::string cap_name)
      : owner_(std::move(owner)), cap_name_(std::move(cap_name)), limit_(limit) {}
  ~Pool() { trim(); }

  Result<Buffer> allocate(std::size_t bytes);
  MemoryStats stats() const;
  std::uint64_t held() const;
  void trim();
  void close();
  void fail_allocation(std::int64_t nth);

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    std::size_t bytes = 0;  // of the live buffer
    int bucket = 0;
    Block* previous = nullptr;   // in the list of live blocks
    Block* next = nullptr;       // there, or in the list of free ones
    std::shared_ptr<Pool> pool;  // keeps the pool while the buffer lives
    // The buffer's reference count lives here: a buffer costs no allocation.
    alignas(std::max_align_t) std::byte count[64];
  };
  struct Chunk {
    std::byte* data;
    std::size_t bytes;
  };

  // Hands shared_ptr the block's own room for its count; the block is free again once that room is.
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
      const std::shared_ptr<Pool> pool = std::move(block->pool);
      pool->free(block);
    }
    Block* block;
  };
  struct NothingToDelete {
    void operator()(void*) const {}
  };

  Status refuse(std::size_t bytes, std::string_view why) const ARGOSY_REQUIRES(mutex_);
  Block* take(std::size_t bytes) ARGOSY_REQUIRES(mutex_);  // null when the system refuses
  Block* cut(Bucket bucket) ARGOSY_REQUIRES(mutex_);
  Block* spare_block() ARGOSY_REQUIRES(mutex_);
  void free(Block* block);
  void release_kept(std::uint64_t down_to) ARGOSY_REQUIRES(mutex_);

  const std::string owner_, cap_name_;
  const std::uint64_t limit_;

  mutable Mutex mutex_;
  std::uint64_t in_use_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t peak_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t allocations_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t live_ ARGOSY_GUARDED_BY(mutex_) = 0;  // capacity of live large blocks
  std::uint64_t kept_ ARGOSY_GUARDED_BY(mutex_) = 0;  // capacity of free large blocks
  std::int64_t small_live_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t fail_in_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;  // nobody will allocate again: keep nothing
  Block* live_blocks_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  std::array<Block*, kBuckets> free_ ARGOSY_GUARDED_BY(mutex_) = {};
  std::deque<Block> blocks_ ARGOSY_GUARDED_BY(mutex_);  // all there are, at stable addresses
  Block* spare_ ARGOSY_GUARDED_BY(mutex_) = nullptr;    // those without memory
  std::vector<Chunk> chunks_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t chunk_used_ ARGOSY_GUARDED_BY(mutex_) = 0;  // of the last one
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
    block = take(bytes);
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

PoolAllocator::Pool::Block* PoolAllocator::Pool::take(std::size_t bytes) {
  const Bucket bucket = bucket_of(bytes);
  // A large block may be up to a quarter larger than asked: better than another one from the system.
  const int reach = bucket.capacity > kSmall ? 2 : 0;
  for (int b = bucket.index; b <= bucket.index + reach && b < kBuckets; ++b) {
    Block* block = free_[static_cast<std::size_t>(b)];
    if (block == nullptr) continue;
    free_[static_cast<std::size_t>(b)] = block->next;
    if (block->capacity > kSmall) {
      kept_ -= block->capacity;
      live_ += block->capacity;
    } else {
      ++small_live_;
    }
    return block;
  }
  if (bucket.capacity <= kSmall) return cut(bucket);
  const std::size_t capacity = round_up(bucket.capacity, kPage);
  if (limit_ != 0 && live_ + kept_ + capacity > limit_) {
    release_kept(limit_ > live_ + capacity ? limit_ - live_ - capacity : 0);
  }
  Block* block = spare_block();
  void* data = take_pages(capacity);
  if (data == nullptr) {
    release_kept(0);
    data = take_pages(capacity);
  }
  if (data == nullptr) {
    block->next = spare_;
    spare_ = block;
    return nullptr;
  }
  poison_memory(data, capacity);
  block->data = static_cast<std::byte*>(data);
  block->capacity = capacity;
  block->bucket = bucket.index;
  live_ += capacity;
  return block;
}

PoolAllocator::Pool::Block* PoolAllocator::Pool::cut(Bucket bucket) {
  if (chunks_.empty() || chunks_.back().bytes - chunk_used_ < bucket.capacity) {
    const std::size_t size = chunks_.empty() ? kFirstChunk : std::min(chunks_.back().bytes * 2, kLastChunk);
    chunks_.reserve(chunks_.size() + 1);
    void* data = take_pages(size);
    if (data == nullptr) return nullptr;
    poison_memory(data, size);
    chunks_.push_back({static_cast<std::byte*>(data), size});
    chunk_used_ = 0;
  }
  Block* block = spare_block();
  block->data = chunks_.back().data + chunk_used_;
  block->capacity = bucket.capacity;
  block->bucket = bucket.index;
  chunk_used_ += bucket.capacity;
  ++small_live_;
  return block;
}

PoolAllocator::Pool::Block* PoolAllocator::Pool::spare_block() {
  if (spare_ == nullptr) return &blocks_.emplace_back();
  Block* block = spare_;
  spare_ = block->next;
  return block;
}

void PoolAllocator::Pool::free(Block* block) {
  MutexLock lock(mutex_);
  (block->previous != nullptr ? block->previous->next : live_blocks_) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  in_use_ -= block->bytes;
  poison_memory(block->data, block->capacity);
  block->next = free_[static_cast<std::size_t>(block->bucket)];
  free_[static_cast<std::size_t>(block->bucket)] = block;
  if (block->capacity <= kSmall) {
    --small_live_;
    return;
  }
  live_ -= block->capacity;
  kept_ += block->capacity;
  const std::uint64_t most = closed_ ? 0 : std::max(peak_, kAlwaysKept);
  if (kept_ > most) release_kept(most);
}

// The largest go first: fewest calls, and the likeliest never to be asked for again.
void PoolAllocator::Pool::release_kept(std::uint64_t down_to) {
  for (int b = kBuckets - 1; b >= 0 && kept_ > down_to; --b) {
    Block*& head = free_[static_cast<std::size_t>(b)];
    while (head != nullptr && head->capacity > kSmall && kept_ > down_to) {
      Block* block = head;
      head = block->next;
      unpoison_memory(block->data, block->capacity);
      give_pages(block->data, block->capacity);
      kept_ -= block->capacity;
      block->next = spare_;
      spare_ = block;
    }
  }
}

void PoolAllocator::Pool::trim() {
  MutexLock lock(mutex_);
  release_kept(0);
  if (small_live_ > 0) return;
  for (Block*& head : free_) {
    while (head != nullptr) {
      Block* block = head;
      head = block->next;
      block->next = spare_;
      spare_ = block;
    }
  }
  for (const Chunk& chunk : chunks_) {
    unpoison_memory(chunk.data, chunk.bytes);
    give_pages(chunk.data, chunk.bytes);
  }
  chunks_.clear();
  chunk_used_ = 0;
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
  std::uint64_t bytes = live_ + kept_;
  for (const Chunk& chunk : chunks_) bytes += chunk.bytes;
  return bytes;
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
