// The elements of a string tensor as a checkpoint stores them: a varint length each, a masked CRC-32C of the lengths,
// then all bytes (tensorflow core/util/tensor_bundle). The checksum of the tensor is computed over each length as u32
// (u64 from 2^32 on), not over the stored varint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Appends the stored form to `to` and returns its checksum. REQUIRES: a kString tensor.
std::uint32_t encode_strings(const Tensor& strings, std::string& to);

// Checks the stored form and returns its checksum. Writes the elements to `strings` unless it is null. DATA_LOSS names
// neither file nor tensor: the caller adds them.
Result<std::uint32_t> decode_strings(std::string_view stored, std::int64_t elements, std::string* strings);

}  // namespace argosy::tf
