// Checks an assignment: a second walk over the graph, which shares nothing with resolve() but placements and rules. So a
// mistake of resolve() is an error of ours, and not a wrong number.
//
// It follows each value through its reshards to each of its users, and holds the node's rule against what arrives:
// * a sharded node: one factor, one cut; inputs and outputs that have it are sharded, the others as its role says;
// * a node on partial values: a linear group, or one monotone input; a replicated member of the group counts once;
// * a node computed whole: everything it reads is replicated;
// * updates: a variable keeps its layout, and its new value is not partial;
// * predicates of conditionals and loops are replicated, so that every rank takes the same way;
// * no value is partial in two ways; shards divide the dimension; what is fetched is whole.
#pragma once

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/mesh.h"
#include "argosy/sharding/rules/rule_table.h"

namespace argosy {

struct VerifyRequest {
  std::vector<Endpoint> fetches = {};  // whole at the end
  LocalStatistics local = {};          // where shards may keep statistics of their own
};

// INTERNAL ARG-SHARD-014: the first node or reshard that does not hold, and why.
Status verify(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh, const Assignment& a,
              const VerifyRequest& request = {});

}  // namespace argosy
