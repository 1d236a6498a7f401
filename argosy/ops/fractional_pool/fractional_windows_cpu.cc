#include "argosy/ops/fractional_pool/fractional_windows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace argosy::fractional {

namespace {

// Evenly in [0, n), without the bias of a remainder.
std::uint32_t below(std::uint32_t n, PhiloxWords& words) {
  if (std::has_single_bit(n)) return words() & (n - 1);
  const std::uint32_t skipped = UINT32_MAX % n + 1;
  std::uint32_t word = words();
  while (word < skipped) word = words();
  return word % n;
}

// Evenly in [0, 1): 52 bits.
double fraction(PhiloxWords& words) {
  const std::uint64_t high = words() & 0xFFFFF;
  return std::bit_cast<double>(std::uint64_t{1023} << 52 | high << 32 | words()) - 1;
}

std::vector<std::int64_t> shuffled(std::int64_t size, std::int64_t windows, PhiloxWords words) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(windows), size / windows);
  for (std::int64_t i = 0; i < size % windows; ++i) ++lengths[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
    std::swap(lengths[i], lengths[i + below(static_cast<std::uint32_t>(lengths.size() - i), words)]);
  }
  std::vector<std::int64_t> places = {0};
  for (const std::int64_t n : lengths) places.push_back(places.back() + n);
  return places;
}

std::vector<std::int64_t> along_a_line(std::int64_t size, std::int64_t windows, PhiloxWords words) {
  const double slope = static_cast<double>(size) / static_cast<double>(windows);
  const std::int64_t k = size / windows;
  // The start must leave the first and the last window their sizes.
  const double most = std::min(static_cast<double>(k + 2) / slope - 1,
                               static_cast<double>(size + 1 - k) / slope - static_cast<double>(windows - 1));
  const double start = fraction(words) * most;
  std::vector<std::int64_t> places = {0};
  for (std::int64_t i = 1; i < windows; ++i) {
    places.push_back(static_cast<std::int64_t>(std::ceil(slope * (static_cast<double>(i) + start))) - 1);
  }
  places.push_back(size);
  return places;
}

}  // namespace

std::vector<std::int64_t> draw_windows(std::int64_t size, std::int64_t windows, bool pseudo_random,
                                       SharedPhilox& generator) {
  if (pseudo_random) return along_a_line(size, windows, PhiloxWords(generator.reserve(1)));
  return shuffled(size, windows, PhiloxWords(generator.reserve(static_cast<std::uint64_t>(windows + 3) / 4)));
}

}  // namespace argosy::fractional
