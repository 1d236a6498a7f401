// Checks an assignment by a second walk over the graph. It shares only placements and rules with resolve(). So a bug in
// resolve() becomes an INTERNAL error, not a wrong number.
//
// It follows each value through its reshards to each of its users, and checks the node's rule against the placements:
// * a sharded node: one factor, one cut; inputs and outputs that have it are sharded, the others as its role says;
// * a node on partial values: a linear group, or one monotone input; a replicated member of the group counts once;
// * a node computed whole: everything it reads is replicated;
// * updates: a variable keeps its layout, and its new value is not partial;
// * predicates of conditionals and loops are replicated, so that every rank takes the same branch;
// * no value is partial in two ways; shards divide the dimension; fetched values are replicated.
#pragma once

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/mesh.h"
#include "argosy/sharding/rules/rule_table.h"

namespace argosy {

struct VerifyRequest {
  std::vector<Endpoint> fetches = {};  // values that must be replicated after their reshards
  LocalStatistics local = {};          // where shards may keep statistics of their own
};

// INTERNAL ARG-SHARD-014 names the first node or reshard that is wrong, and says why.
Status verify(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh, const Assignment& a,
              const VerifyRequest& request = {});

}  // namespace argosy
