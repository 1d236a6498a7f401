#include "argosy/strategy/data_parallel/copies/input_shards.h"

#include "argosy/ops/collective/collective.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

}  // namespace

void shard_inputs(ReplicaBuild& b) {
  if (b.layout.shards() == 1) return;
  const auto on = b.graph.device(kHost);
  for (const NodeId x : b.plan.inputs) {
    for (int s = 0; s < b.layout.shards(); ++s) {
      b.input_shards[x].push_back(
          shard_batch(Value(&b.graph, x, 0), b.layout.weights, s, str_cat(b.graph.node(x).name, "/shard_", s)));
    }
  }
}

}  // namespace argosy
