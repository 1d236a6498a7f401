#include "argosy/ops/fractional_pool/fractional_windows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace argosy::fractional {

namespace {

// Uniform in [0, n), by rejection sampling.
std::uint32_t uniform_below(std::uint32_t n, PhiloxWords& words) {
  if (std::has_single_bit(n)) return words() & (n - 1);
  const std::uint32_t skipped = UINT32_MAX % n + 1;
  std::uint32_t word = words();
  while (word < skipped) word = words();
  return word % n;
}

// Uniform in [0, 1): 52 bits.
double uniform_double(PhiloxWords& words) {
  const std::uint64_t high = words() & 0xFFFFF;
  return std::bit_cast<double>(std::uint64_t{1023} << 52 | high << 32 | words()) - 1;
}

std::vector<std::int64_t> shuffled_boundaries(std::int64_t size, std::int64_t windows, PhiloxWords words) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(windows), size / windows);
  for (std::int64_t i = 0; i < size % windows; ++i) ++lengths[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
    std::swap(lengths[i], lengths[i + uniform_below(static_cast<std::uint32_t>(lengths.size() - i), words)]);
  }
  std::vector<std::int64_t> boundaries = {0};
  for (const std::int64_t n : lengths) boundaries.push_back(boundaries.back() + n);
  return boundaries;
}

std::vector<std::int64_t> pseudo_random_boundaries(std::int64_t size, std::int64_t windows, PhiloxWords words) {
  const double slope = static_cast<double>(size) / static_cast<double>(windows);
  const std::int64_t k = size / windows;
  // The largest start for which the first boundary is at most k + 1, and the last window has at least k elements.
  const double max_start = std::min(static_cast<double>(k + 2) / slope - 1,
                                    static_cast<double>(size + 1 - k) / slope - static_cast<double>(windows - 1));
  const double start = uniform_double(words) * max_start;
  std::vector<std::int64_t> boundaries = {0};
  for (std::int64_t i = 1; i < windows; ++i) {
    boundaries.push_back(static_cast<std::int64_t>(std::ceil(slope * (static_cast<double>(i) + start))) - 1);
  }
  boundaries.push_back(size);
  return boundaries;
}

}  // namespace

std::vector<std::int64_t> draw_windows(std::int64_t size, std::int64_t windows, bool pseudo_random,
                                       SharedPhilox& generator) {
  if (pseudo_random) return pseudo_random_boundaries(size, windows, PhiloxWords(generator.reserve(1)));
  return shuffled_boundaries(size, windows,
                             PhiloxWords(generator.reserve(static_cast<std::uint64_t>(windows + 3) / 4)));
}

}  // namespace argosy::fractional
