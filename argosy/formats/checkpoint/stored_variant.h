// StoredVariant: a variant's value as a checkpoint keeps it: serialised bytes and the name of their type. Variants must
// hold one to be saved, and hold one when they are read.
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

// Returns the StoredVariant in `element`; null: it holds none.
const StoredVariant* stored_variant(const Variant& element);

// Appends the stored form of a kVariant tensor to `to` and returns its checksum. The stored form of each element:
// varint length, VariantTensorDataProto, masked checksum so far. REQUIRES: every element holds a StoredVariant.
std::uint32_t encode_variants(const Tensor& variants, std::string& to);

// Checks the stored form and returns its checksum. Writes the elements to `variants` unless it is null. DATA_LOSS names
// neither file nor tensor: the caller adds them.
Result<std::uint32_t> decode_variants(std::string_view stored, std::int64_t elements, Variant* variants);

}  // namespace argosy::tf
