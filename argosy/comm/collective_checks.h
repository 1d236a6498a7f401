// The names of collectives, and comparisons of what ranks ask for. Internal to argosy/comm.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "argosy/comm/collective_call.h"

namespace argosy {

std::string_view kind_name(Collective kind);  // "all_reduce_shards"
bool of_shards(Collective kind);              // true: its inputs are logical shards, combined as a binary tree
bool reduces(Collective kind);                // true: it combines values; false: it only moves them

std::string tensor_list(std::span<const Tensor> tensors);  // "float[784,256], float[256]"
// True if both lists have the same length, and tensors at one index have equal dtypes and numbers of elements.
bool same_arrays(std::span<const Tensor> a, std::span<const Tensor> b);

inline std::byte* at(const Tensor& t, std::size_t elements) {
  return t.buffer().data() + elements * element_bytes(t.dtype());
}

}  // namespace argosy
