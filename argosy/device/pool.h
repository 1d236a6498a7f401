// The memory of one device in host memory: capped, counted, and kept for reuse in size buckets, so that a steady step
// asks the system for nothing.
//
// The cap is hard and counts the bytes of live buffers. What is kept for reuse is released before the cap would be
// passed, and never exceeds the highest use seen. Memory is taken from the system when first needed and goes back with
// the allocator; live buffers keep theirs until they go. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "argosy/tensor/buffer.h"

namespace argosy {

class PoolAllocator final : public Allocator {
 public:
  // `owner` names the device in errors ("gpu:0"), `cap_name` in the advice to raise its cap (--mem), where that is
  // another; limit 0 = none.
  PoolAllocator(std::string owner, std::uint64_t limit_bytes, std::string cap_name = "");
  ~PoolAllocator() override;
  PoolAllocator(const PoolAllocator&) = delete;
  PoolAllocator& operator=(const PoolAllocator&) = delete;

  // RESOURCE_EXHAUSTED: ARG-MEM-001 above the cap, with the largest live buffers; ARG-MEM-002 where the system refuses.
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override;
  void trim() override;

  // Bytes taken from the system, in live buffers and kept ones.
  std::uint64_t held_bytes() const;
  // For tests of what is above: the nth call from now (1 = the next) fails as if the cap were reached.
  void fail_allocation(std::int64_t nth);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

// What this process may use of the host's memory: the machine's, or less where a cgroup says so.
std::uint64_t host_memory_bytes();

}  // namespace argosy
