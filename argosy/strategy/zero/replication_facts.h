// What ZeRO-1 needs to know of a replicated step. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replicas.h"

namespace argosy {

struct ReplicationFacts {
  std::vector<ReplicaKind> kinds;  // by node of the original
  std::vector<Endpoint> points;    // of the original: what is summed over shards. Replicas::sums has what they become
};

}  // namespace argosy
