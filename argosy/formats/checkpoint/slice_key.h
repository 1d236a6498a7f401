// The key under which a checkpoint keeps one slice of a partitioned variable: TensorFlow's ordered code of
// 0, name, rank and each dimension's start and length (tensorflow core/lib/strings/ordered_code.cc).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace argosy::tf {

// One dimension of a slice; a length of -1 stands for the whole dimension.
struct Extent {
  std::int64_t start = 0;
  std::int64_t length = -1;
};
using Slice = std::vector<Extent>;

std::string slice_key(std::string_view name, std::span<const Extent> slice);
// Slices sort before every name and begin with this byte.
inline bool is_slice_key(std::string_view key) { return !key.empty() && key.front() == '\0'; }

}  // namespace argosy::tf
