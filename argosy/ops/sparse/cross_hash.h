// How crossed features are hashed, as TensorFlow does it. Internal to the sparse and ragged families.
#pragma once

#include <cstdint>
#include <limits>

namespace argosy {

// Of two fingerprints one.
inline std::uint64_t joined_fingerprint(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  const auto mix = [](std::uint64_t v) { return v ^ (v >> 47); };
  const std::uint64_t h = ((a ^ kMultiplier) ^ (mix(b * kMultiplier) * kMultiplier)) * kMultiplier;
  return mix(mix(h) * kMultiplier);
}

// A bucket of `count`, or, where that is 0, a number that is not negative.
inline std::int64_t fingerprint_bucket(std::uint64_t hash, std::int64_t count) {
  const auto most = static_cast<std::uint64_t>(count > 0 ? count : std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(hash % most);
}

}  // namespace argosy
