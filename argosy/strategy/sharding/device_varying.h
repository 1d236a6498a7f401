// Which values differ from shard to shard, where some are of the global batch already. Internal to strategy/.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

class Varying {
 public:
  // The graph and its axes are borrowed. `global`: of the global batch, and so whatever is computed from these alone.
  Varying(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> global)
      : graph_(graph), axes_(axes), global_(global.begin(), global.end()) {}

  // Not thread-safe: it remembers.
  bool operator()(Endpoint e);

 private:
  const Graph& graph_;
  const BatchAxes& axes_;
  const std::vector<Endpoint> global_;
  std::unordered_map<NodeId, bool> known_;
};

}  // namespace argosy
