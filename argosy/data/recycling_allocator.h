// RecyclingAllocator: host memory that keeps released buffers for allocations of the same size. Batches have few sizes,
// and new pages cost more than filling them. Thread-safe; buffers may outlive it.
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
  MemoryStats stats() const override;  // in_use_bytes: allocated buffers and kept ones

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace argosy::data
