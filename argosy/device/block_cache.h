// BlockCache: the memory blocks of a pool in host memory, kept for reuse.
//
// Small blocks (up to 64 KiB) are cut from chunks; a large block has pages of its own. Free blocks lie in buckets by
// size, eight for each doubling, so that at most an eighth of a block is unused. Not thread-safe: the pool's mutex
// protects it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace argosy {

class BlockCache {
 public:
  struct Block {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    std::size_t bytes = 0;  // of the live buffer; the pool's
    int bucket = 0;
    Block* previous = nullptr;   // in the pool's list of live blocks
    Block* next = nullptr;       // there, or in a list of free ones
    std::shared_ptr<void> pool;  // keeps the pool while the buffer lives
    // The buffer's reference count lives here: a buffer costs no allocation.
    alignas(std::max_align_t) std::byte count[64];
  };

  BlockCache() = default;
  // REQUIRES: every block was put back.
  ~BlockCache() { trim(); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A block of at least `bytes`. Releases free blocks before large blocks would exceed `limit` bytes (0 = none). Null:
  // the system refuses. Throws std::bad_alloc where there is no memory for the bookkeeping. REQUIRES: bytes <= 2^50.
  Block* take(std::size_t bytes, std::uint64_t limit);
  // Makes the block free. Keeps at most `most` bytes of large free blocks.
  void put(Block* block, std::uint64_t most);
  // Returns all free memory to the system. Chunks stay while a small block is live.
  void trim();
  // Bytes held from the system, in live and free blocks.
  std::uint64_t held() const;

 private:
  static constexpr int kBuckets = 8 * 50;
  struct Chunk {
    std::byte* data;
    std::size_t bytes;
  };

  Block* cut(int bucket, std::size_t capacity);
  Block* spare_block();
  void release(std::uint64_t down_to);

  std::uint64_t live_ = 0;  // capacity of live large blocks
  std::uint64_t kept_ = 0;  // capacity of free large blocks
  std::int64_t small_live_ = 0;
  std::array<Block*, kBuckets> free_ = {};
  std::deque<Block> blocks_;  // all blocks, at stable addresses
  Block* spare_ = nullptr;    // blocks without memory
  std::vector<Chunk> chunks_;
  std::size_t chunk_used_ = 0;  // of the last one
};

}  // namespace argosy
