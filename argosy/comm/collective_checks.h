// What collectives are called, and what ranks must agree on. Internal to comm/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "argosy/comm/collective_call.h"

namespace argosy {

std::string_view kind_name(Collective kind);  // "all_reduce_shards"
bool of_shards(Collective kind);              // its inputs are logical shards, combined as a tree
bool reduces(Collective kind);                // else it only moves values

std::string tensor_list(std::span<const Tensor> tensors);  // "float[784,256], float[256]"
// Equally many tensors, of equal dtypes and numbers of elements.
bool same_arrays(std::span<const Tensor> a, std::span<const Tensor> b);

inline std::byte* at(const Tensor& t, std::size_t elements) {
  return t.buffer().data() + elements * element_bytes(t.dtype());
}

}  // namespace argosy
