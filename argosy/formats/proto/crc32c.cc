#include "argosy/formats/proto/crc32c.h"

#include <algorithm>
#include <array>

#if __has_include(<isa-l/crc.h>)
#include <isa-l/crc.h>
#define ARGOSY_HAS_ISAL 1
#endif

namespace argosy::tf {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

// A checksum is a polynomial over GF(2) modulo the Castagnoli polynomial, bit 31 standing for x^0.
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

namespace internal {
std::uint32_t crc32c_table(std::uint32_t crc, const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (std::size_t i = 0; i < bytes; ++i) crc = (crc >> 8) ^ kTable[(crc ^ p[i]) & 0xff];
  return ~crc;
}
}  // namespace internal

std::uint32_t crc32c_extend(std::uint32_t crc, const void* data, std::size_t bytes) {
#if defined(ARGOSY_HAS_ISAL)
  constexpr std::size_t kMost = std::size_t{1} << 30;  // ISA-L counts in int
  auto* p = const_cast<unsigned char*>(static_cast<const unsigned char*>(data));
  crc = ~crc;
  while (bytes > 0) {
    const std::size_t n = std::min(bytes, kMost);
    crc = crc32_iscsi(p, static_cast<int>(n), crc);
    p += n;
    bytes -= n;
  }
  return ~crc;
#else
  return internal::crc32c_table(crc, data, bytes);
#endif
}

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b) {
  // Appending n zero bytes multiplies by x^(8n); the inversions at both ends cancel out.
  std::uint32_t power = 1u << 31;   // x^0
  std::uint32_t square = 1u << 23;  // x^8, then x^16, x^32 …
  for (std::uint64_t n = bytes_b; n != 0; n >>= 1) {
    if ((n & 1) != 0) power = multiply(power, square);
    square = multiply(square, square);
  }
  return multiply(power, crc_a) ^ crc_b;
}

}  // namespace argosy::tf
