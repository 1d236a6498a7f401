// Nodes that change a value's placement on devices. Internal to lower/.
#pragma once

#include <vector>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Returns shard d of `whole`, a value with the shape of endpoint e of the base graph.
Result<Value> slice_shard(LowerState& s, Value whole, Endpoint e, const Placement& p, int d);
// Returns the shards of e, joined on `device`.
Result<Value> join_shards(LowerState& s, const std::vector<Value>& shards, Endpoint e, const Placement& p,
                          std::string_view device);
// Returns the partial values, combined on `device`.
Result<Value> combine_partial(LowerState& s, const std::vector<Value>& parts, Combine how, std::string_view device);

}  // namespace argosy
