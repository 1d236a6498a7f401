// The hashing of feature crosses, as in TensorFlow. Internal to the sparse and ragged families.
#pragma once

#include <cstdint>
#include <limits>

namespace argosy {

// Combines two fingerprints into one.
inline std::uint64_t joined_fingerprint(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  const auto mix = [](std::uint64_t v) { return v ^ (v >> 47); };
  const std::uint64_t h = ((a ^ kMultiplier) ^ (mix(b * kMultiplier) * kMultiplier)) * kMultiplier;
  return mix(mix(h) * kMultiplier);
}

// The bucket in [0, count) of a hash; with count 0 a number in [0, 2^63 - 1).
inline std::int64_t fingerprint_bucket(std::uint64_t hash, std::int64_t count) {
  const auto most = static_cast<std::uint64_t>(count > 0 ? count : std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(hash % most);
}

}  // namespace argosy
