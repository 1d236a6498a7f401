// Reports whether a value is *device-varying*: it differs from shard to shard. Values in `global` are not. Internal to
// strategy/.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

class Varying {
 public:
  // The graph and its axes are borrowed. Values computed from `global` values alone are not device-varying either.
  Varying(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> global)
      : graph_(graph), axes_(axes), global_(global.begin(), global.end()) {}

  // Not thread-safe: it caches.
  bool operator()(Endpoint e);

 private:
  const Graph& graph_;
  const BatchAxes& axes_;
  const std::vector<Endpoint> global_;
  std::unordered_map<NodeId, bool> known_;
};

}  // namespace argosy
