// Cuts global tensors into the values that the devices of a mesh axis hold, and joins them again. For tests: every
// reshard goes through the global value.
#pragma once

#include <vector>

#include "argosy/sharding/mesh.h"
#include "argosy/sharding/placement.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// By device; not valid() where a device has nothing (Placement::once).
using Shards = std::vector<Tensor>;

Result<Shards> cut_value(const Tensor& global, const Placement& p, const MeshAxis& axis);
// INVALID_ARGUMENT where replicated values differ, or a varying value is asked for.
Result<Tensor> join_value(const Shards& shards, const Placement& p, const MeshAxis& axis);
Result<Shards> reshard_value(const Shards& shards, const Placement& from, const Placement& to, const MeshAxis& axis);

}  // namespace argosy
