// The elements of a string tensor as a checkpoint stores them: a varint length each, a masked CRC-32C of the lengths,
// then all bytes (tensorflow core/util/tensor_bundle). The checksum of the whole counts lengths as u32 (u64 above
// 2^32), not as the varint bytes that are stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Appends the stored form to `to` and returns its checksum. REQUIRES: a kString tensor.
std::uint32_t encode_strings(const Tensor& strings, std::string& to);

// Checks the form and gives its checksum; fills `strings` unless it is null. DATA_LOSS without file or name: the caller
// knows those.
Result<std::uint32_t> decode_strings(std::string_view stored, std::int64_t elements, std::string* strings);

}  // namespace argosy::tf
