#include "argosy/runtime/compile/storage/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
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
  // Grows the arena. A hole at its end is extended, not left unused.
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

std::size_t rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kBufferAlignment - 1) & ~(kBufferAlignment - 1);
}

struct Packed {
  std::size_t bytes = 0, live_bytes = 0;
  std::int32_t peak_at = 0;  // the position at which the most bytes are alive
};

// Places the lifetimes `which`, sorted by birth, by best fit at offsets from `base` on.
Packed pack(std::vector<Lifetime>& lifetimes, const std::vector<std::size_t>& which, std::size_t base) {
  Packed packed;
  Holes holes;
  using Death = std::pair<std::int32_t, std::size_t>;  // (position, lifetime)
  std::priority_queue<Death, std::vector<Death>, std::greater<>> alive;
  std::size_t live = 0;
  for (const std::size_t i : which) {
    Lifetime& life = lifetimes[i];
    while (!alive.empty() && alive.top().first < life.birth) {
      const Lifetime& dead = lifetimes[alive.top().second];
      holes.give_back(dead.offset - static_cast<std::int64_t>(base), rounded(dead.bytes));
      live -= rounded(dead.bytes);
      alive.pop();
    }
    life.offset = holes.take(rounded(life.bytes)) + static_cast<std::int64_t>(base);
    alive.push({life.death, i});
    live += rounded(life.bytes);
    if (live > packed.live_bytes) {
      packed.live_bytes = live;
      packed.peak_at = life.birth;
    }
  }
  packed.bytes = holes.end();
  return packed;
}

// Places lifetimes of more than `longest` positions first, and all others behind them. Returns the size of the arena.
std::size_t pack_apart(std::vector<Lifetime>& lifetimes, std::int32_t longest) {
  std::vector<std::size_t> some, others;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const auto length = std::int64_t{lifetimes[i].death} - lifetimes[i].birth;
    (length > longest ? some : others).push_back(i);
  }
  const std::size_t first = pack(lifetimes, some, 0).bytes;
  return first + pack(lifetimes, others, first).bytes;
}

}  // namespace

ArenaPlan plan_arena(std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> all(lifetimes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Packed packed = pack(lifetimes, all, 0);
  ArenaPlan plan{.bytes = packed.bytes, .live_bytes = packed.live_bytes};
  constexpr std::size_t kMostWaste = 64;  // waste of up to 1/64 of what is alive is accepted
  const bool wastes = packed.bytes - packed.live_bytes > packed.live_bytes / kMostWaste;
  const std::int32_t positions = lifetimes.empty() ? 0 : lifetimes.back().birth - lifetimes.front().birth;
  for (int parts = 2; wastes && parts <= 32; parts *= 2) {
    std::vector<Lifetime> tried = lifetimes;
    const std::size_t bytes = pack_apart(tried, positions / parts);
    if (bytes >= plan.bytes) continue;
    plan.bytes = bytes;
    lifetimes = std::move(tried);
  }
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].birth <= packed.peak_at && lifetimes[i].death >= packed.peak_at) plan.at_peak.push_back(i);
  }
  return plan;
}

}  // namespace argosy
