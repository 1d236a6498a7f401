// Nodes that change a value's placement on devices. Internal to lower/.
#pragma once

#include <vector>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// `whole`, a value with the shape of endpoint e of the base graph, on device d: the device's shard of it.
Result<Value> slice_shard(LowerState& s, Value whole, Endpoint e, const Placement& p, int d);
// The devices' shards of e, joined on `device`.
Result<Value> join_shards(LowerState& s, const std::vector<Value>& shards, Endpoint e, const Placement& p,
                          std::string_view device);
// Partial values, combined on `device`.
Result<Value> combine_partial(LowerState& s, const std::vector<Value>& parts, Combine how, std::string_view device);

}  // namespace argosy
