// Changes between each shard's own statistics (Placement::Kind::kLocal, L) and partial sums. Internal to lower/.
//
//   L ──► times the shard's part of the batch ──► P(sum) ──► divided by that part ──► L
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Returns the term of the sum over shards that shard d's statistics `own` make: `own` times its part of the batch,
// zeros if the shard is empty. The result is on `device`, in the loops around node `at`.
Value term_of_shard(LowerState& s, Value own, NodeId at, int d, std::string_view device);
// Returns the term, zeros if the shard is empty: a sum of no rows times statistics of none is 0 times NaN.
Value nonempty_term(LowerState& s, Value term, NodeId at, int d);
// Flags by node: its outputs are partial sums that were multiplied by a shard's own statistics.
std::vector<char> sums_times_statistics(const LowerState& s);
// The inverse of term_of_shard(): returns shard d's statistics, given its term of a sum over shards.
Value own_of_term(LowerState& s, Value term, NodeId at, int d);

}  // namespace argosy
