// UpdateShard: an update of one shard of a variable's elements, where the slots hold that shard alone.
//
//   variable   [ . . . . | . . . . | . . . . ]   whole; elements of shard 1 are written
//   slots, gradient       [ 1 1 1 1 ]            vectors of the shard's elements
//
// Written on nodes of dense updates by strategies. A variable of any shape counts as one vector, split by shard_batch().
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

inline constexpr const char* kUpdateShardWeights = "_update_shard_weights";  // list(int): of all shards
inline constexpr const char* kUpdateShardIndex = "_update_shard_index";      // int: of this one

struct UpdateShard {
  std::vector<std::int64_t> weights;
  std::int64_t index = 0;

  // Nothing where the node updates the whole variable.
  static std::optional<UpdateShard> of(const AttrMap& attrs);
  // The shard's elements as a vector that shares the variable's memory.
  Result<Tensor> elements_of(const Tensor& variable) const;
  // How many there are.
  Result<std::int64_t> size(std::int64_t elements) const;
};

}  // namespace argosy
