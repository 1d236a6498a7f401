// UpdateShard: an optimizer update of one shard of a variable's elements; the slots have that shard's elements only.
//
//   variable   [ . . . . | . . . . | . . . . ]   all elements; those of shard 1 are written
//   slots, gradient       [ 1 1 1 1 ]            vectors of the shard's elements
//
// Sharding strategies set it as attributes of dense updates. A variable of any shape is treated as one vector, split by
// shard_batch().
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

inline constexpr const char* kUpdateShardWeights = "_update_shard_weights";  // list(int): the weights of all shards
inline constexpr const char* kUpdateShardIndex = "_update_shard_index";      // int: the index of this one

struct UpdateShard {
  std::vector<std::int64_t> weights;
  std::int64_t index = 0;

  // nullopt: the node updates the whole variable.
  static std::optional<UpdateShard> of(const AttrMap& attrs);
  // The shard's elements as a vector that shares the variable's memory.
  Result<Tensor> elements_of(const Tensor& variable) const;
  // How many elements the shard has, of a variable of `elements`.
  Result<std::int64_t> size(std::int64_t elements) const;
};

}  // namespace argosy
