// Checks the rule of one node against the placements of its inputs and outputs on one mesh axis. Internal to verify/.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

// Returns "" if the placements agree with the rule, else the reason, for a message. `in`: after reshards.
// `hidden_state`: the node neither reads nor returns a handle of its state. `keeps_local`: its shards may keep
// statistics of their own.
std::string why_not(const OpDef& op, bool hidden_state, const ShardingRule& rule, const NodeSharding& sharding,
                    const std::vector<Placement>& in, const std::vector<Placement>& out, bool keeps_local);

}  // namespace argosy
