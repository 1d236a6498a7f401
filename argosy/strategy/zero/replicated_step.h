// What ZeRO-1 needs to know of a replicated step. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replication_plan.h"

namespace argosy {

struct ReplicatedStep {
  // A value that is combined over shards.
  struct Point {
    Endpoint value;       // of the original
    bool joined = false;  // its rows are joined, instead of a sum
  };
  std::vector<ReplicaKind> kinds;  // by node of the original
  std::vector<Point> points;       // Replicas::sums has what they become, in this order
};

}  // namespace argosy
