// RandomBits: pseudo-random numbers that depend on seed and stream alone, for data that must be equal on every machine
// and thread. The generator is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#pragma once

#include <cstdint>

namespace argosy::data {

constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class RandomBits {
 public:
  constexpr RandomBits(std::uint64_t seed, std::uint64_t stream)
      : state_(mix_bits(seed + 0x9e3779b97f4a7c15u) ^ mix_bits(stream * 0xd1342543de82ef95u + 1)) {}

  constexpr std::uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  // Uniform in [0, 1), with 24 random bits.
  constexpr float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }
  constexpr float uniform(float low, float high) { return low + (high - low) * uniform(); }

 private:
  std::uint64_t state_;
};

}  // namespace argosy::data
