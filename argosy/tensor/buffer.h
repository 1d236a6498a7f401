// Buffer: a block of memory on one device. A copy is cheap and shares the memory.
//
// * An owned buffer keeps its memory alive. The last copy returns it to its allocator.
// * A borrowed buffer points into memory that another object keeps alive (a step's arena, a caller's array), and is
//   valid only as long as that object. So a value that outlives a step must own its memory (Tensor::owned()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "argosy/base/status.h"

namespace argosy {

inline constexpr std::size_t kBufferAlignment = 64;  // bytes; of every allocation

class Buffer {
 public:
  Buffer() = default;
  // The last copy releases `owner`, whose deleter frees the memory.
  Buffer(std::shared_ptr<void> owner, void* data, std::size_t bytes)
      : owner_(std::move(owner)), data_(static_cast<std::byte*>(data)), bytes_(bytes) {}
  // A buffer over memory that another object owns; it must outlive the buffer and its copies.
  static Buffer borrow(void* data, std::size_t bytes) { return Buffer(nullptr, data, bytes); }

  std::byte* data() const { return data_; }         // address on the buffer's device
  std::size_t bytes() const { return bytes_; }      // of data()
  bool owned() const { return owner_ != nullptr; }  // the last copy frees the memory
  // True when no other buffer shares this memory: it may be overwritten.
  bool unique() const { return owner_ != nullptr && owner_.use_count() == 1; }
  const std::shared_ptr<void>& owner() const { return owner_; }  // null for borrowed memory
  // A range of this buffer; shares ownership. REQUIRES: in range.
  Buffer part(std::size_t offset, std::size_t bytes) const { return Buffer(owner_, data_ + offset, bytes); }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Statistics of an allocator.
struct MemoryStats {
  std::uint64_t in_use_bytes = 0;  // in live buffers
  std::uint64_t peak_bytes = 0;    // highest in_use_bytes so far
  std::uint64_t limit_bytes = 0;   // hard cap; 0 = none
  std::uint64_t allocations = 0;   // calls so far
};

// Allocator: allocates the buffers of one device. Thread-safe. Memory is 64-byte aligned and not initialised. Buffers
// may outlive the allocator (they share its state).
class Allocator {
 public:
  virtual ~Allocator() = default;
  // RESOURCE_EXHAUSTED with the bytes requested, in use and allowed, when it does not fit.
  virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  virtual MemoryStats stats() const = 0;  // Any thread.
  // Returns memory kept for later allocations to the system.
  virtual void trim() {}
  // True if host code may read and write this memory. If not (a real GPU), use the next two functions in place of
  // memcpy. copy_within() is enqueued in order with the device's work, and the host does not wait. copy_out() waits for
  // the copy.
  virtual bool on_host() const { return true; }
  virtual Status copy_within(void* to, const void* from, std::size_t bytes);  // Between places of this memory.
  virtual Status copy_out(void* to, const void* from, std::size_t bytes);     // From this memory to host memory.
};

// Plain host memory, no cap, counted process-wide. Lives for ever.
Allocator& host_allocator();

}  // namespace argosy
