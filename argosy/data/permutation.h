// Permutation: a pseudo-random permutation of [0, n) in constant memory. It is a Feistel network on the smallest 4^k >=
// n, applied again until the result is below n: cycle walking (Black and Rogaway, Ciphers with Arbitrary Finite
// Domains, 2002). Immutable; thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "argosy/data/random_bits.h"

namespace argosy::data {

class Permutation {
 public:
  // REQUIRES: n >= 1. The order depends on n, seed and epoch alone.
  Permutation(std::int64_t n, std::uint64_t seed, std::int64_t epoch)
      : n_(static_cast<std::uint64_t>(n)), half_bits_((std::bit_width(n_ - 1) + 1) / 2) {
    RandomBits random(seed, static_cast<std::uint64_t>(epoch));
    for (std::uint64_t& key : keys_) key = random.next();
  }

  // Returns element i of the permutation. REQUIRES: 0 <= i < n.
  std::int64_t operator[](std::int64_t i) const {
    auto x = static_cast<std::uint64_t>(i);
    do {
      x = encrypt(x);
    } while (x >= n_);
    return static_cast<std::int64_t>(x);
  }

 private:
  std::uint64_t encrypt(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mix_bits(right ^ key) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t n_;
  int half_bits_;
  std::array<std::uint64_t, 6> keys_{};
};

}  // namespace argosy::data
