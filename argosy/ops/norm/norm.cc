#include "argosy/ops/norm/norm.h"

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/norm/norm_registration.h"
#include "argosy/ops/norm/norm_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_norm_ops(OpRegistry& ops) {
  define_batch_norm(ops);
  define_layer_norm(ops);
  define_lrn(ops);
  define_global_norm(ops);
}

void define_norm(OpRegistry& ops) {
  with_sharding(ops, add_norm_ops,
                {{"FusedBatchNorm", {}, batch_norm_sharding},
                 {"FusedBatchNormGrad", {}, batch_norm_grad_sharding},
                 {"FusedBatchNormV2", {}, batch_norm_sharding},
                 {"FusedBatchNormGradV2", {}, batch_norm_grad_sharding},
                 {"FusedBatchNormV3", {}, batch_norm_sharding},
                 {"FusedBatchNormGradV3", {}, batch_norm_grad_sharding}});
}

namespace {

Value reduce(const char* op, Value x, const std::vector<std::int32_t>& axes, bool keep_dims) {
  if (!x.valid()) return {};
  return x.graph().add(op, {x, constant(x.graph(), Tensor::vector(axes))}, {{"keep_dims", keep_dims}});
}

}  // namespace

BatchNorm fused_batch_norm(Value x, Value scale, Value offset, const BatchNormOptions& options, std::string_view name) {
  if (!x.valid()) return {};
  Graph& graph = x.graph();
  const auto given = [&](Value v) { return v.valid() ? v : constant(graph, Tensor::zeros(DType::kFloat32, {0})); };
  const Value y = graph.add("FusedBatchNormV3", {x, scale, offset, given(options.mean), given(options.variance)},
                            {{"epsilon", options.epsilon},
                             {"exponential_avg_factor", options.exponential_avg_factor},
                             {"data_format", options.data_format},
                             {"is_training", options.is_training}},
                            name);
  return {y, y.output(1), y.output(2)};
}

Value batch_normalization(Value x, Value mean, Value variance, Value offset, Value scale, float epsilon) {
  if (!x.valid()) return {};
  const auto scope = x.graph().name_scope("batchnorm");
  Value factor = rsqrt(variance + epsilon);
  if (scale.valid()) factor = factor * scale;
  const Value shift = offset.valid() ? offset - mean * factor : neg(mean * factor);
  return x * factor + shift;
}

Value layer_norm(Value x, Value scale, Value offset, float epsilon, std::string_view name) {
  return x.valid() ? x.graph().add("_LayerNorm", {x, scale, offset}, {{"epsilon", epsilon}}, name) : x;
}

Moments moments(Value x, const std::vector<std::int32_t>& axes, bool keep_dims) {
  if (!x.valid()) return {};
  Graph& graph = x.graph();
  const auto scope = graph.name_scope("moments");
  const Value mean = reduce("Mean", x, axes, true);
  const Value variance = reduce("Mean", squared_difference(x, stop_gradient(mean)), axes, true);
  if (keep_dims) return {mean, variance};
  std::vector<std::int64_t> squeezed(axes.begin(), axes.end());
  const AttrMap attrs = {{"squeeze_dims", squeezed}};
  return {graph.add("Squeeze", {mean}, attrs), graph.add("Squeeze", {variance}, attrs)};
}

Value l2_normalize(Value x, const std::vector<std::int32_t>& axes, float epsilon) {
  if (!x.valid()) return {};
  const auto scope = x.graph().name_scope("l2_normalize");
  return x * rsqrt(maximum(reduce("Sum", square(x), axes, true), epsilon));
}

Value local_response_normalization(Value x, int depth_radius, float bias, float alpha, float beta) {
  if (!x.valid()) return {};
  return x.graph().add("LRN", {x}, {{"depth_radius", depth_radius}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}});
}

Value dropout(Value x, float rate, std::int64_t seed, std::string_view name) {
  if (!x.valid()) return {};
  Graph& graph = x.graph();
  if (!(rate >= 0 && rate < 1)) {
    graph.fail(invalid_argument("dropout: rate must be in [0, 1), not ", rate));
    return {};
  }
  if (rate == 0) return x;
  const auto scope = graph.name_scope(name);
  const Value random = graph.add("RandomUniform", {graph.add("Shape", {x})},
                                 {{"dtype", x.dtype()}, {"seed", seed == 0 ? 0 : 87654321}, {"seed2", seed}});
  const Value keep = greater_equal(random, static_cast<double>(rate));
  return graph.add("SelectV2", {keep, x * (1 / (1 - static_cast<double>(rate))), constant_like(x, 0)});
}

}  // namespace argosy
