#include "argosy/formats/checkpoint/slice_key.h"

#include <bit>

namespace argosy::tf {

namespace {

// One byte of length, then the big-endian bytes without leading zeros.
void put_number(std::string& to, std::uint64_t value) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  to += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(value >> (8 * i));
}

// The bytes 00 and ff are escaped, so that 00 01 can end the string and still sort first.
void put_string(std::string& to, std::string_view text) {
  for (const char c : text) {
    to += c;
    if (c == '\0') to += '\xff';
    if (c == '\xff') to += '\0';
  }
  to += '\0';
  to += '\1';
}

// Big-endian two's complement of n bytes whose first n bits after the sign are inverted sign bits: a longer number
// further from zero sorts further out. One byte holds [-64, 63].
void put_signed(std::string& to, std::int64_t value) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  const int bytes = std::bit_width(magnitude) / 7 + 1;  // n bytes carry 7n-1 bits beside the sign
  const unsigned char fill = value < 0 ? 0xff : 0;
  std::string code(static_cast<std::size_t>(bytes), '\0');
  for (int i = 0; i < bytes; ++i) {
    const int shift = 8 * (bytes - 1 - i);
    code[static_cast<std::size_t>(i)] =
        static_cast<char>(shift >= 64 ? fill : static_cast<std::uint64_t>(value >> shift));
  }
  for (int bit = 0; bit < bytes; ++bit) {
    code[static_cast<std::size_t>(bit / 8)] =
        static_cast<char>(code[static_cast<std::size_t>(bit / 8)] ^ (0x80 >> (bit % 8)));
  }
  to += code;
}

}  // namespace

std::string slice_key(std::string_view name, std::span<const Extent> slice) {
  std::string key;
  put_number(key, 0);
  put_string(key, name);
  put_number(key, slice.size());
  for (const Extent& extent : slice) {
    put_signed(key, extent.start);
    put_signed(key, extent.length);
  }
  return key;
}

}  // namespace argosy::tf
