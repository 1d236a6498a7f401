// ReplicationFacts: the facts of a replicated step that ZeRO-1 needs. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replicas.h"

namespace argosy {

struct ReplicationFacts {
  std::vector<ReplicaKind> kinds;  // by node of the original
  std::vector<Endpoint> points;    // values of the original that are summed over shards; Replicas::sums has the sums
};

}  // namespace argosy
