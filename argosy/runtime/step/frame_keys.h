// Keys of loops' frames: numbers that name a frame to all tasks of a step. They are those of TensorFlow 2.4 and later,
// so its tasks and ours may share a loop. TensorFlow 1.x has others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace argosy {

// Returns the key of a frame's name: MurmurHash64A with TensorFlow's seed. The same on every machine.
inline std::uint64_t frame_name_key(std::string_view name) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995u, kSeed = 0xdecafcaffeu;
  constexpr int kShift = 47;
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(name[i])}; };
  std::uint64_t key = kSeed ^ name.size() * kFactor;
  std::size_t at = 0;
  for (; at + 8 <= name.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word |= byte(at + i) << (8 * i);
    word *= kFactor;
    word ^= word >> kShift;
    key = (key ^ word * kFactor) * kFactor;
  }
  if (at < name.size()) {
    for (std::size_t i = 0; at + i < name.size(); ++i) key ^= byte(at + i) << (8 * i);
    key *= kFactor;
  }
  key = (key ^ key >> kShift) * kFactor;
  return key ^ key >> kShift;
}

// Returns the key of the frame that iteration `iteration` of frame `parent` enters. The root's key is 0.
inline std::uint64_t child_frame_key(std::uint64_t parent, std::int64_t iteration, std::uint64_t name_key) {
  const auto combined = [](std::uint64_t a, std::uint64_t b) {
    return a ^ (b + 0x9e3779b97f4a7800u + (a << 10) + (a >> 4));
  };
  return combined(parent, combined(static_cast<std::uint64_t>(iteration), name_key));
}

}  // namespace argosy
