// Layers that normalise, and dropout.
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/train/layers.h"

namespace argosy {

Value Layers::batch_norm(Value x, const BatchNormLayerOptions& options) {
  if (!x.valid()) return x;
  const int rank = x.shape().rank();
  if ((rank != 2 && rank != 4) || x.shape()[rank - 1] < 0) {
    graph_.fail(invalid_argument(options.name, ": takes [batch, channels] or [batch, height, width, channels], not ",
                                 x.shape()));
    return {};
  }
  const std::int64_t channels = x.shape()[rank - 1];
  const auto scope = graph_.name_scope(options.name);
  const VariableNode gamma = variable("gamma", {channels}, ones_initializer());
  const VariableNode beta = variable("beta", {channels}, zeros_initializer());
  const VariableNode mean = variable("moving_mean", {channels}, zeros_initializer(), false);
  const VariableNode variance = variable("moving_variance", {channels}, ones_initializer(), false);

  const Value images = rank == 4 ? x : reshape(x, {-1, 1, 1, channels});
  const Value none = constant(graph_, Tensor::zeros(mean.dtype(), {0}));
  const Value y =
      graph_.add("FusedBatchNormV3",
                 {images, gamma.read, beta.read, training() ? none : mean.read, training() ? none : variance.read},
                 {{"epsilon", options.epsilon}, {"is_training", training()}});
  if (training()) {
    const auto follow = [&](const VariableNode& moving, Value batch, std::string_view name) {
      add_update(assign_sub(moving, (moving.read - batch) * (1 - options.momentum), name));
    };
    follow(mean, y.output(1), "AssignMovingAvg");
    follow(variance, y.output(2), "AssignMovingAvg_1");
  }
  return rank == 4 ? y : reshape(y, {-1, channels});
}

Value Layers::layer_norm(Value x, const LayerNormOptions& options) {
  if (!x.valid()) return x;
  const std::int64_t width = x.shape().rank() > 0 ? x.shape().sizes().back() : -1;
  if (width < 0) {
    graph_.fail(invalid_argument(options.name, ": the last size of ", x.shape(), " must be known"));
    return {};
  }
  const auto scope = graph_.name_scope(options.name);
  const VariableNode gamma = variable("gamma", {width}, ones_initializer());
  const VariableNode beta = variable("beta", {width}, zeros_initializer());
  return argosy::layer_norm(x, value_of(gamma), value_of(beta), static_cast<float>(options.epsilon));
}

Value Layers::dropout(Value x, double rate) {
  if (!x.valid() || !training() || rate == 0) return x;
  if (!(rate > 0 && rate < 1)) {
    graph_.fail(invalid_argument("dropout: the rate must be in [0, 1), not ", rate));
    return {};
  }
  const auto scope = graph_.name_scope("dropout");
  const std::int64_t seed = next_seed();
  Value uniform;
  if (options_.step) {
    const Value mine = shard_index(graph_) + constant(graph_, static_cast<std::int32_t>(seed));
    const Value pair = stack({mine, cast(*options_.step, DType::kInt32)});
    uniform = stateless_random_uniform(shape(x), pair);
  } else {
    uniform = random_uniform(graph_, shape(x), 0, 1, {.seed = seed});
  }
  return x * cast(greater_equal(uniform, rate), x.dtype()) * (1 / (1 - rate));
}

}  // namespace argosy
