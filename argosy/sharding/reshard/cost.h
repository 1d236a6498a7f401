// What the reshards of an assignment move.
#pragma once

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/reshard/redistribution.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

struct ReshardCost {
  Redistribution how = Redistribution::kNothing;
  double bytes = 0;  // that each device of the axis sends
};
// For a batch of this size. A value that is sharded on other mesh axes as well has fewer bytes on this one.
ReshardCost cost_of(const Reshard& reshard, const Assignment& assignment, const Sizes& sizes, const Mesh& mesh,
                    std::int64_t batch);
// Of all of them.
double bytes_moved(const Assignment& assignment, const Sizes& sizes, const Mesh& mesh, std::int64_t batch);

}  // namespace argosy
