// The traffic of the reshards of an assignment.
#pragma once

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/reshard/redistribution.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

struct ReshardCost {
  Redistribution how = Redistribution::kNothing;
  double bytes = 0;  // that each device of the axis sends
};
// Returns the collective and the bytes of a reshard, for a batch of this size. Sharding on other mesh axes makes the
// value smaller on this one.
ReshardCost cost_of(const Reshard& reshard, const Assignment& assignment, const Sizes& sizes, const Mesh& mesh,
                    std::int64_t batch);
// Returns the sum of the bytes over all reshards.
double bytes_moved(const Assignment& assignment, const Sizes& sizes, const Mesh& mesh, std::int64_t batch);

}  // namespace argosy
