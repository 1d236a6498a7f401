// PoolAllocator: the memory of a device that lives in host memory. It has a cap, counts, and keeps freed blocks in size
// buckets, so that a steady step makes no system call for memory.
//
// The cap is hard and counts the bytes of live buffers. Kept blocks are released before the cap would be exceeded, and
// never exceed the highest use so far (or 64 MiB, if that is more). The pool takes memory from the system on first need
// and returns it with its destructor. Live buffers keep their memory until they are released. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "argosy/tensor/buffer.h"

namespace argosy {

class PoolAllocator final : public Allocator {
 public:
  // `owner` names the device in errors ("gpu:0"). `cap_name` names it in the advice to raise its cap (--mem), if
  // different. limit_bytes 0 = no cap.
  PoolAllocator(std::string owner, std::uint64_t limit_bytes, std::string cap_name = "");
  ~PoolAllocator() override;
  PoolAllocator(const PoolAllocator&) = delete;
  PoolAllocator& operator=(const PoolAllocator&) = delete;

  // RESOURCE_EXHAUSTED: ARG-MEM-001 above the cap, with the largest live buffers; ARG-MEM-002 where the system refuses.
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override;
  void trim() override;

  // Bytes held from the system: live buffers and kept blocks.
  std::uint64_t held_bytes() const;
  // For tests: the nth call of allocate() from now (1 = the next) fails as if the cap were reached.
  void fail_allocation(std::int64_t nth);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

// Bytes of host memory that this process may use: the machine's memory, or less where a cgroup limits it.
std::uint64_t host_memory_bytes();

}  // namespace argosy
