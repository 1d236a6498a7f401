#include "argosy/ops/random/random_numbers.h"

#include <bit>

namespace argosy {

std::uint64_t RandomNumbers::word64() {
  const std::uint64_t low = words_();
  return low | (std::uint64_t{words_()} << 32);
}

namespace {

// Words that would favour small results are drawn again: those below 2^bits mod n.
template <typename U, typename Draw>
U even_below(U n, Draw&& draw) {
  if ((n & (n - 1)) == 0) return draw() & (n - 1);
  const U rest = static_cast<U>(static_cast<U>(~U{0}) % n + 1);
  U word = draw();
  while (word < rest) word = draw();
  return word % n;
}

}  // namespace

std::uint64_t RandomNumbers::below(std::uint64_t n) {
  return even_below(n, [&] { return word64(); });
}
std::uint32_t RandomNumbers::below_narrow(std::uint32_t n) {
  return even_below(n, [&] { return words_(); });
}
float RandomNumbers::unit_float() { return std::bit_cast<float>(0x3f800000u | (words_() & 0x7fffffu)) - 1.0f; }
double RandomNumbers::unit_double() {
  const std::uint32_t high = words_(), low = words_();
  return std::bit_cast<double>((std::uint64_t{1023} << 52) | (std::uint64_t{high & 0xfffffu} << 32) | low) - 1.0;
}

}  // namespace argosy
