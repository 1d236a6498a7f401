// Holds the rule of one node against what arrives and what the node is said to give, on one mesh axis. Internal to
// verify/.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

// "": it holds. Else the reason, for a message. `hidden_state`: the node neither reads nor gives a handle of its state.
// `keeps_local`: shards may keep statistics of their own there.
std::string why_not(const OpDef& op, bool hidden_state, const ShardingRule& rule, const Way& way,
                    const std::vector<Placement>& in, const std::vector<Placement>& out, bool keeps_local);

}  // namespace argosy
