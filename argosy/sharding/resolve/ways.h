// The ways in which a node may be computed on one mesh axis, given the placements that its inputs have. Internal to
// resolve/.
//
// rules/candidates.h lists what a rule allows whatever comes. Here shards come cut in rounds and units, and only ways
// are listed that some input, or a wish for an output, gives a reason for.
#pragma once

#include <span>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

struct Choice {
  Way way;
  SmallVector<Placement, 4> inputs;   // that the node needs, by input
  SmallVector<Placement, 2> outputs;  // that it gives
};

struct WaysRequest {
  const OpDef* op = nullptr;
  const ShardingRule* rule = nullptr;
  bool by_chance = false;             // computed whole, it would give other values on every device
  bool keeps_local = false;           // LocalStatistics::of
  bool takes_own = false;             // LocalStatistics::gradients
  std::span<const Placement> inputs;  // as they are
  std::span<const char> known;        // by input: false where it comes round a loop and was not seen yet
  std::span<const Placement> wishes;  // by output: S, or R for none
  // Rounds and units below it: a number that follows the batch is none of a layout. 0: any.
  std::int64_t limit = 0;
};

// Appends to `ways`: whole first, then factors in the rule's order, linear groups, monotone inputs.
void list_ways(const WaysRequest& request, std::vector<Choice>& ways);

}  // namespace argosy
