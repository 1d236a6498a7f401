// Swaps the byte order of integers and tensors, for big-endian files on little-endian machines. Internal to
// argosy/data.
#pragma once

#include <cstdint>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

constexpr std::uint16_t swap_bytes(std::uint16_t x) { return __builtin_bswap16(x); }
constexpr std::uint32_t swap_bytes(std::uint32_t x) { return __builtin_bswap32(x); }
constexpr std::uint64_t swap_bytes(std::uint64_t x) { return __builtin_bswap64(x); }

namespace internal {
template <typename T>
void swap_run(T* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = swap_bytes(values[i]);
}
}  // namespace internal

// Swaps the bytes of every element in place; of complex numbers, of each part. REQUIRES: a plain dtype.
inline void swap_elements(const Tensor& t) {
  const bool parts = is_complex(t.dtype());
  const std::size_t width = element_bytes(t.dtype()) / (parts ? 2 : 1);
  const std::int64_t n = t.elements() * (parts ? 2 : 1);
  if (width == 2) internal::swap_run(t.raw_as<std::uint16_t>(), n);
  if (width == 4) internal::swap_run(t.raw_as<std::uint32_t>(), n);
  if (width == 8) internal::swap_run(t.raw_as<std::uint64_t>(), n);
}

}  // namespace argosy::data
