// Host memory that is used again: batches come and go in the same few sizes, and fresh pages cost more than filling
// them. Thread-safe; buffers may outlive it.
#pragma once

#include <memory>

#include "argosy/tensor/buffer.h"

namespace argosy::data {

class RecyclingAllocator final : public Allocator {
 public:
  // Keeps at most `keep` unused buffers.
  explicit RecyclingAllocator(std::size_t keep);
  ~RecyclingAllocator() override;

  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override;  // in_use_bytes: handed out and kept

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace argosy::data
