#include "argosy/formats/checkpoint/stored_variant.h"

#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/types.pb.h"
#include "argosy/formats/proto/wire.h"

namespace argosy::tf {

namespace {

// The checksum counts a length as u64, and each checksum stored so far.
std::uint32_t extend_by_element(std::uint32_t crc, std::string_view bytes) {
  std::string length;
  put_u64(length, bytes.size());
  crc = crc32c_extend(crc, length.data(), length.size());
  return crc32c_extend(crc, bytes.data(), bytes.size());
}

}  // namespace

const StoredVariant* stored_variant(const Variant& element) {
  return dynamic_cast<const StoredVariant*>(element.value().get());
}

std::uint32_t encode_variants(const Tensor& variants, std::string& to) {
  std::uint32_t crc = 0;
  for (const Variant& element : variants.values<Variant>()) {
    const StoredVariant* const value = stored_variant(element);
    ARGOSY_CHECK(value != nullptr);
    tensorflow::VariantTensorDataProto message;
    message.set_type_name(value->type());
    message.set_metadata(value->bytes());
    const std::string bytes = message.SerializeAsString();
    put_varint(to, bytes.size());
    to += bytes;
    crc = extend_by_element(crc, bytes);
    std::string checksum;
    put_u32(checksum, mask_crc(crc));
    to += checksum;
    crc = crc32c_extend(crc, checksum.data(), checksum.size());
  }
  return crc;
}

Result<std::uint32_t> decode_variants(std::string_view stored, std::int64_t elements, Variant* variants) {
  std::uint32_t crc = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint64_t length = 0;
    if (!take_varint(stored, length) || length > stored.size() || stored.size() - length < 4) {
      return data_loss("variant ", i, " of ", elements, " passes the end of the stored bytes");
    }
    const std::string_view bytes = stored.substr(0, length);
    crc = extend_by_element(crc, bytes);
    if (!crc_agrees(unmask_crc(get_u32(stored.data() + length)), crc)) {
      return data_loss("variant ", i, " of ", elements, " fails its checksum");
    }
    crc = crc32c_extend(crc, stored.data() + length, 4);
    stored.remove_prefix(length + 4);
    if (variants == nullptr) continue;
    tensorflow::VariantTensorDataProto message;
    if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return data_loss("variant ", i, " of ", elements, " is no VariantTensorDataProto");
    }
    variants[i] = Variant(std::make_shared<StoredVariant>(message.type_name(), message.metadata()));
  }
  if (!stored.empty()) return data_loss(stored.size(), " bytes follow the last variant");
  return crc;
}

}  // namespace argosy::tf
