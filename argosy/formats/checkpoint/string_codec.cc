#include "argosy/formats/checkpoint/string_codec.h"

#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/wire.h"

namespace argosy::tf {

namespace {

std::uint32_t extend_by_length(std::uint32_t crc, std::uint64_t length) {
  std::string bytes;
  if (length <= UINT32_MAX) {
    put_u32(bytes, static_cast<std::uint32_t>(length));
  } else {
    put_u64(bytes, length);
  }
  return crc32c_extend(crc, bytes.data(), bytes.size());
}

}  // namespace

std::uint32_t encode_strings(const Tensor& strings, std::string& to) {
  std::uint32_t crc = 0;
  for (const std::string& s : strings.values<std::string>()) {
    put_varint(to, s.size());
    crc = extend_by_length(crc, s.size());
  }
  std::string checksum;
  put_u32(checksum, mask_crc(crc));
  to += checksum;
  crc = crc32c_extend(crc, checksum.data(), checksum.size());
  for (const std::string& s : strings.values<std::string>()) {
    to += s;
    crc = crc32c_extend(crc, s.data(), s.size());
  }
  return crc;
}

Result<std::uint32_t> decode_strings(std::string_view stored, std::int64_t elements, std::string* strings) {
  std::string_view lengths = stored;
  std::uint32_t crc = 0;
  std::uint64_t total = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint64_t length = 0;
    if (!take_varint(lengths, length) || length > stored.size()) {
      return data_loss("the length of string ", i, " of ", elements, " is damaged");
    }
    total += length;
    if (total > stored.size()) return data_loss("the strings are longer than the ", stored.size(), " stored bytes");
    crc = extend_by_length(crc, length);
  }
  if (lengths.size() < 4 || lengths.size() - 4 != total) {
    return data_loss("the strings need ", total, " bytes, ", lengths.size(), " are stored with their checksum");
  }
  if (!crc_agrees(unmask_crc(get_u32(lengths.data())), crc)) return data_loss("the string lengths fail their checksum");
  std::string_view bytes = lengths.substr(4);
  if (strings != nullptr) {
    std::string_view again = stored;
    for (std::int64_t i = 0; i < elements; ++i) {
      std::uint64_t length = 0;
      (void)take_varint(again, length);  // checked above
      strings[i].assign(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  return crc32c_extend(crc, lengths.data(), lengths.size());
}

}  // namespace argosy::tf
