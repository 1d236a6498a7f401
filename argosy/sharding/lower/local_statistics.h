// Statistics of each shard (Placement::Kind::kLocal), on their way to sums over shards and back. Internal to lower/.
//
//   L ──► times the shard's part of the batch ──► P(sum) ──► over the part ──► L
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// What shard d has, near node `at`, as its term of the sum. Nothing where the shard is empty.
Value term_of_shard(LowerState& s, Value own, NodeId at, int d, std::string_view device);
// What shard d adds to a sum, as its own statistics.
Value own_of_term(LowerState& s, Value term, NodeId at, int d);

}  // namespace argosy
