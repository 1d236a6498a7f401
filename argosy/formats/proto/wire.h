// Reads and writes little-endian integers and varints in byte strings, for protobuf, TFRecord and LevelDB tables.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace argosy::tf {

static_assert(std::endian::native == std::endian::little, "files are little endian and read in place");

inline void put_u32(std::string& to, std::uint32_t value) { to.append(reinterpret_cast<const char*>(&value), 4); }
inline void put_u64(std::string& to, std::uint64_t value) { to.append(reinterpret_cast<const char*>(&value), 8); }
inline std::uint32_t get_u32(const char* from) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, 4);
  return value;
}
inline std::uint64_t get_u64(const char* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, 8);
  return value;
}

inline void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
// Removes a varint from the front of `from`. False: there is none, it is not of minimal length, or it exceeds 64 bits.
inline bool take_varint(std::string_view& from, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return shift == 0 || byte != 0;
  }
  return false;
}

}  // namespace argosy::tf
