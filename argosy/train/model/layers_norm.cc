// Layers that normalise, and dropout.
#include <numeric>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/train/model/layers.h"

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

  Value y, batch_mean, batch_variance;
  if (x.dtype() == DType::kFloat64) {
    // FusedBatchNorm has no float64 (nor has TensorFlow's).
    std::vector<std::int32_t> but_channels(static_cast<std::size_t>(rank - 1));
    std::iota(but_channels.begin(), but_channels.end(), 0);
    batch_mean = training() ? reduce_mean(x, but_channels) : mean.read;
    // As tf.nn.moments has it: what the variance says of the mean has no gradient, since it would be 0.
    batch_variance =
        training() ? reduce_mean(squared_difference(x, stop_gradient(batch_mean)), but_channels) : variance.read;
    y = (x - batch_mean) * (rsqrt(batch_variance + options.epsilon) * gamma.read) + beta.read;
  } else {
    const Value none = constant(graph_, Tensor::zeros(mean.dtype(), {0}));
    const Value fused = graph_.add("FusedBatchNormV3",
                                   {rank == 4 ? x : reshape(x, {-1, 1, 1, channels}), gamma.read, beta.read,
                                    training() ? none : mean.read, training() ? none : variance.read},
                                   {{"epsilon", options.epsilon}, {"is_training", training()}});
    batch_mean = fused.output(1), batch_variance = fused.output(2);
    y = rank == 4 ? fused : reshape(fused, {-1, channels});
  }
  if (training()) {
    const auto follow = [&](const VariableNode& moving, Value batch, std::string_view name) {
      add_update(assign_sub(moving, (moving.read - batch) * (1 - options.momentum), name));
    };
    follow(mean, batch_mean, "AssignMovingAvg");
    follow(variance, batch_variance, "AssignMovingAvg_1");
  }
  return y;
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
    // Of int64, which a GPU reads where it is.
    const Value place = constant(graph_, std::int64_t{static_cast<std::int32_t>(seed)});
    uniform = stateless_random_uniform(shape(x), stack({place, *options_.step}));
  } else {
    uniform = random_uniform(graph_, shape(x), 0, 1, {.seed = seed});
  }
  return x * cast(greater_equal(uniform, rate), x.dtype()) * (1 / (1 - rate));
}

}  // namespace argosy
