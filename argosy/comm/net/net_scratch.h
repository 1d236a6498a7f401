// NetScratch: a pool of host memory for data in transit, kept between collectives. Internal to argosy/comm/net.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy {

// Thread-safe.
class NetScratch {
 public:
  // Owns a block, and returns it to the pool when destroyed.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), memory_(std::move(other.memory_)) {}
    Block& operator=(Block&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
      return *this;
    }
    ~Block() {
      if (pool_ != nullptr) pool_->give_back(std::move(memory_));
    }
    std::byte* data() const { return memory_.second.get(); }

   private:
    friend class NetScratch;
    NetScratch* pool_ = nullptr;
    std::pair<std::size_t, std::unique_ptr<std::byte[]>> memory_;
  };

  Block take(std::size_t bytes) {
    Block block;
    block.pool_ = this;
    {
      MutexLock lock(mutex_);
      for (std::size_t i = 0; i < free_.size(); ++i) {
        if (free_[i].first < bytes || free_[i].first / 4 > bytes) continue;
        block.memory_ = std::move(free_[i]);
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
        return block;
      }
    }
    block.memory_ = {bytes, std::unique_ptr<std::byte[]>(new std::byte[bytes])};
    return block;
  }

 private:
  static constexpr std::size_t kMostKept = 8;

  void give_back(std::pair<std::size_t, std::unique_ptr<std::byte[]>> memory) {
    MutexLock lock(mutex_);
    if (free_.size() == kMostKept) free_.erase(free_.begin());
    free_.push_back(std::move(memory));
  }

  Mutex mutex_;
  std::vector<std::pair<std::size_t, std::unique_ptr<std::byte[]>>> free_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
