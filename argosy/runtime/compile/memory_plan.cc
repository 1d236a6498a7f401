#include "argosy/runtime/compile/memory_plan.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "argosy/tensor/buffer.h"

namespace argosy {

namespace {

// Holes by offset (to join neighbours) and by size (to find the best fit).
class Holes {
 public:
  std::int64_t take(std::size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    erase(offset, size);
    if (size > bytes) insert(offset + static_cast<std::int64_t>(bytes), size - bytes);
    return offset;
  }

  void give_back(std::int64_t offset, std::size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + static_cast<std::int64_t>(bytes) == next->first) {
      bytes += next->second;
      erase(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + static_cast<std::int64_t>(before->second) == offset) {
        const std::int64_t start = before->first;
        bytes += before->second;
        erase(start, before->second);
        offset = start;
      }
    }
    insert(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  // A hole at the very end is made longer, rather than left and skipped.
  std::int64_t grow(std::size_t bytes) {
    std::int64_t offset = static_cast<std::int64_t>(end_);
    if (!by_offset_.empty()) {
      const auto [start, size] = *by_offset_.rbegin();
      if (static_cast<std::size_t>(start) + size == end_) {
        offset = start;
        erase(start, size);
      }
    }
    end_ = static_cast<std::size_t>(offset) + bytes;
    return offset;
  }
  void insert(std::int64_t offset, std::size_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void erase(std::int64_t offset, std::size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::size_t end_ = 0;
  std::map<std::int64_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::int64_t>> by_size_;
};

}  // namespace

ArenaPlan plan_arena(std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  Holes holes;
  using Death = std::pair<std::int32_t, std::size_t>;  // (position, lifetime)
  std::priority_queue<Death, std::vector<Death>, std::greater<>> alive;
  std::size_t live = 0;
  std::int32_t peak_at = 0;
  const auto rounded = [](std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + kBufferAlignment - 1) & ~(kBufferAlignment - 1);
  };
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    Lifetime& life = lifetimes[i];
    while (!alive.empty() && alive.top().first < life.birth) {
      const Lifetime& dead = lifetimes[alive.top().second];
      holes.give_back(dead.offset, rounded(dead.bytes));
      live -= rounded(dead.bytes);
      alive.pop();
    }
    life.offset = holes.take(rounded(life.bytes));
    alive.push({life.death, i});
    live += rounded(life.bytes);
    if (live > plan.live_bytes) {
      plan.live_bytes = live;
      peak_at = life.birth;
    }
  }
  plan.bytes = holes.end();
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].birth <= peak_at && lifetimes[i].death >= peak_at) plan.at_peak.push_back(i);
  }
  return plan;
}

}  // namespace argosy
