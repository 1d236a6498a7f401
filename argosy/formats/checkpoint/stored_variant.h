// A variant as a checkpoint keeps it: bytes, and what they are of. Variants that are to be saved hold one, and those
// read hold one again.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

class StoredVariant final : public VariantValue {
 public:
  StoredVariant(std::string type, std::string bytes) : type_(std::move(type)), bytes_(std::move(bytes)) {}
  std::string describe() const override { return type_; }
  const std::string& type() const { return type_; }
  const std::string& bytes() const { return bytes_; }

 private:
  const std::string type_, bytes_;
};

// What `element` holds, or null.
const StoredVariant* stored_variant(const Variant& element);

// Appends the stored form of a kVariant tensor to `to` (each element: varint length, VariantTensorDataProto, masked
// checksum so far) and returns its checksum. REQUIRES: StoredVariants alone.
std::uint32_t encode_variants(const Tensor& variants, std::string& to);

// Checks the form and gives its checksum; fills `variants` unless it is null. DATA_LOSS without file or name: the
// caller knows those.
Result<std::uint32_t> decode_variants(std::string_view stored, std::int64_t elements, Variant* variants);

}  // namespace argosy::tf
