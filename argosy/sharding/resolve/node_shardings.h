// The shardings that a node may have on one mesh axis, given the placements that its inputs have. Internal to
// resolve/.
//
// rules/candidates.h lists everything that a rule allows. Here only those are listed that some input's placement, or a
// wish for an output, suggests. Shards have the rounds and units of these placements.
#pragma once

#include <span>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

struct Choice {
  NodeSharding sharding;
  SmallVector<Placement, 4> inputs;   // the placements that the node needs
  SmallVector<Placement, 2> outputs;  // the placements that it gives
};

struct ShardingsRequest {
  const OpDef* op = nullptr;
  const ShardingRule* rule = nullptr;
  bool is_random = false;             // random: see AxisState
  bool keeps_local = false;           // LocalStatistics::of
  bool takes_own = false;             // LocalStatistics::gradients
  std::span<const Placement> inputs;  // the placements that they have
  std::span<const char> known;        // by input: false if it is the back edge of a loop that was not visited yet
  std::span<const Placement> wishes;  // by output: S, or R for none
  // An upper bound of rounds and units, exclusive: larger numbers depend on the batch size, which layouts must not. 0:
  // none.
  std::int64_t limit = 0;
};

// Appends to `shardings`: whole first, then factors in the rule's order, linear groups, monotone inputs, local
// statistics.
void list_shardings(const ShardingsRequest& request, std::vector<Choice>& shardings);

}  // namespace argosy
