#include "argosy/device/block_cache.h"

#include <algorithm>
#include <bit>

#include "argosy/device/pages.h"
#include "argosy/tensor/buffer.h"

namespace argosy {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmall = std::size_t{64} << 10;        // up to here blocks are cut from chunks
constexpr std::size_t kFirstChunk = std::size_t{256} << 10;  // chunks double up to kLastChunk
constexpr std::size_t kLastChunk = std::size_t{2} << 20;
constexpr int kStepsPerDoubling = 8;

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

BlockCache::Block* BlockCache::take(std::size_t bytes, std::uint64_t limit) {
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
  if (bucket.capacity <= kSmall) return cut(bucket.index, bucket.capacity);
  const std::size_t capacity = round_up(bucket.capacity, kPage);
  if (limit != 0 && live_ + kept_ + capacity > limit) {
    release(limit > live_ + capacity ? limit - live_ - capacity : 0);
  }
  Block* block = spare_block();
  void* data = take_pages(capacity);
  if (data == nullptr) {
    release(0);
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

BlockCache::Block* BlockCache::cut(int bucket, std::size_t capacity) {
  if (chunks_.empty() || chunks_.back().bytes - chunk_used_ < capacity) {
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
  block->capacity = capacity;
  block->bucket = bucket;
  chunk_used_ += capacity;
  ++small_live_;
  return block;
}

BlockCache::Block* BlockCache::spare_block() {
  if (spare_ == nullptr) return &blocks_.emplace_back();
  Block* block = spare_;
  spare_ = block->next;
  return block;
}

void BlockCache::put(Block* block, std::uint64_t most) {
  poison_memory(block->data, block->capacity);
  block->next = free_[static_cast<std::size_t>(block->bucket)];
  free_[static_cast<std::size_t>(block->bucket)] = block;
  if (block->capacity <= kSmall) {
    --small_live_;
    return;
  }
  live_ -= block->capacity;
  kept_ += block->capacity;
  if (kept_ > most) release(most);
}

// The largest blocks first: that needs the fewest calls, and they are the least likely to be used again.
void BlockCache::release(std::uint64_t down_to) {
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

void BlockCache::trim() {
  release(0);
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

std::uint64_t BlockCache::held() const {
  std::uint64_t bytes = live_ + kept_;
  for (const Chunk& chunk : chunks_) bytes += chunk.bytes;
  return bytes;
}

}  // namespace argosy
