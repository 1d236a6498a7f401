#include "argosy/tf/server/replication/batch_size_feeds.h"

#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"

namespace argosy::tf {

std::vector<std::size_t> scalars_equal_to(std::span<const Tensor> feeds, std::int64_t value) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Tensor& t = feeds[i];
    if (t.shape().rank() != 0) continue;
    if ((t.dtype() == DType::kInt32 && *t.data<std::int32_t>() == value) ||
        (t.dtype() == DType::kInt64 && *t.data<std::int64_t>() == value)) {
      found.push_back(i);
    }
  }
  return found;
}

Status take_size_from_batch(StepGraph& step, std::size_t number, std::size_t batch) {
  Graph& g = step.graph;
  const auto uses = g.consumers();
  const Value given(&g, step.feeds[number], 0);
  const auto root = g.name_scope("");
  const auto on = g.device("");
  const Value sizes = shape(Value(&g, step.feeds[batch], 0), given.dtype());
  const Value size = squeeze(slice(sizes, {0}, {1}));
  if (!size.valid()) return g.status();
  for (const Graph::Use& use : uses[given.node().index]) {
    if (use.input >= 0) g.set_input(use.node, use.input, size.endpoint());
  }
  return ok_status();
}

}  // namespace argosy::tf
