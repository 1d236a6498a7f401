// CRC-32C (Castagnoli), the checksum of TFRecord, of event files and of checkpoints. Pure functions.
// crc32c("123456789") == 0xe3069283 (RFC 3720, appendix B.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace argosy::tf {

// Returns the checksum of A followed by B. `crc`: the checksum of A; 0 if A is empty. `data`: B.
std::uint32_t crc32c_extend(std::uint32_t crc, const void* data, std::size_t bytes);
inline std::uint32_t crc32c(std::string_view bytes) { return crc32c_extend(0, bytes.data(), bytes.size()); }

// Returns the checksum of A followed by B, from both checksums and the length of B. So threads can each checksum a
// part.
std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b);

// Returns the stored ("masked") form: rotated, plus a constant. Files hold it because a CRC over bytes that contain
// CRCs is weak.
constexpr std::uint32_t mask_crc(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr std::uint32_t unmask_crc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

// True if a stored checksum agrees with a computed one. Every reader calls it. In a fuzzing build it is always true, so
// that mutated inputs reach the code after the check.
constexpr bool crc_agrees(std::uint32_t stored, std::uint32_t computed) {
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  return (void)stored, (void)computed, true;
#else
  return stored == computed;
#endif
}

namespace internal {
// Like crc32c_extend(), byte by byte with a lookup table: for processors that ISA-L does not support, and for tests.
std::uint32_t crc32c_table(std::uint32_t crc, const void* data, std::size_t bytes);
}  // namespace internal

}  // namespace argosy::tf
