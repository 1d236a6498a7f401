// Philox-4x32-10, the counter-based generator behind every random op. Block n of a stream is a function of key and
// counter alone, so blocks can be skipped, split over threads and computed out of order. For equal seeds the numbers
// are TensorFlow's. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/system/random_source.h"

namespace argosy {

// A value type; not synchronised.
class Philox {
 public:
  using Key = std::array<std::uint32_t, 2>;
  using Block = std::array<std::uint32_t, 4>;

  Philox(Key key, Block counter) : key_(key), counter_(counter) {}
  // The stream of an op with TensorFlow's two seeds: one is the key, the other the upper half of the counter.
  Philox(std::uint64_t seed, std::uint64_t seed2) : Philox(halves(seed), join({0, 0}, halves(seed2))) {}

  const Key& key() const { return key_; }
  const Block& counter() const { return counter_; }

  // The next block: four words.
  Block operator()() {
    const Block words = compute(key_, counter_);
    skip(1);
    return words;
  }
  // Moves on by this many blocks.
  void skip(std::uint64_t blocks) {
    const std::uint64_t before = low();
    set_low(before + blocks);
    if (low() < before && ++counter_[2] == 0) ++counter_[3];
  }
  // The lower half of the counter: what skip() counts.
  std::uint64_t low() const { return counter_[0] | (std::uint64_t{counter_[1]} << 32); }

 private:
  static Key halves(std::uint64_t v) { return {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)}; }
  static Block join(Key a, Key b) { return {a[0], a[1], b[0], b[1]}; }
  void set_low(std::uint64_t v) {
    counter_[0] = static_cast<std::uint32_t>(v);
    counter_[1] = static_cast<std::uint32_t>(v >> 32);
  }

  static Block compute(Key key, Block c) {
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t a = std::uint64_t{kMultiplier0} * c[0];
      const std::uint64_t b = std::uint64_t{kMultiplier1} * c[2];
      c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
      key[0] += kWeyl0;
      key[1] += kWeyl1;
    }
    return c;
  }

 public:
  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

 private:
  Key key_;
  Block counter_;
};

// The words of a stream one by one, in order.
class PhiloxWords {
 public:
  explicit PhiloxWords(const Philox& from) : blocks_(from) {}
  std::uint32_t operator()() {
    if (used_ == 4) {
      words_ = blocks_();
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  Philox blocks_;
  Philox::Block words_{};
  std::size_t used_ = 4;
};

// The state of a stateful random op between its runs: a stream and its position. Thread-safe.
class SharedPhilox {
 public:
  // Both seeds 0: a random stream.
  SharedPhilox(std::int64_t seed, std::int64_t seed2, RandomSource& chance = system_random_source())
      : philox_(seed == 0 && seed2 == 0 ? Philox(chance.next(), chance.next())
                                        : Philox(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(seed2))) {
  }
  // Returns the stream from its present position on, and advances it by `blocks`, which the caller may use.
  Philox reserve(std::uint64_t blocks) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Philox from = philox_;
    from.skip(furthest_);
    philox_.skip(blocks);
    return from;
  }
  // The same for shard `index` of a batch. Every shard reserves the blocks of the global batch, so equal calls of all
  // shards return the same stream. reserve() goes on after the furthest shard.
  Philox reserve_of_batch(std::size_t index, std::uint64_t blocks) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (index >= taken_.size()) taken_.resize(index + 1, 0);
    Philox from = philox_;
    from.skip(taken_[index]);
    taken_[index] += blocks;
    furthest_ = std::max(furthest_, taken_[index]);
    return from;
  }
  // The position after the furthest shard; go_to() sets the position of all shards.
  Philox place() const ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Philox from = philox_;
    from.skip(furthest_);
    return from;
  }
  void go_to(const Philox& place) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    philox_ = place;
    taken_.clear();
    furthest_ = 0;
  }

 private:
  mutable Mutex mutex_;
  Philox philox_ ARGOSY_GUARDED_BY(mutex_);                     // advanced by reserve()
  std::vector<std::uint64_t> taken_ ARGOSY_GUARDED_BY(mutex_);  // by shard: the blocks reserved from philox_ on
  std::uint64_t furthest_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy
