#include "argosy/ops/fractional_pool/fractional_pool.h"

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status pool_shape(ShapeContext& c) {
  const auto& ratios = c.attrs().get<std::vector<float>>("pooling_ratio");
  if (ratios.size() != 4) {
    return invalid_argument(c.op().name, ": pooling_ratio field must specify 4 dimensions, not ", ratios.size());
  }
  for (const float ratio : ratios) {
    if (!(ratio >= 1)) return invalid_argument(c.op().name, ": pooling_ratio cannot be smaller than 1, got: ", ratio);
  }
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  std::vector<std::int64_t> sizes(4, kUnknownSize);
  for (int i = 0; i < 4 && x.has_rank(); ++i) {
    if (x[i] >= 0)
      sizes[static_cast<std::size_t>(i)] =
          static_cast<std::int64_t>(std::floor(static_cast<float>(x[i]) / ratios[static_cast<std::size_t>(i)]));
  }
  for (const int i : {1, 2}) {
    const std::int64_t n = sizes[static_cast<std::size_t>(i)];
    c.set_output(i, PartialShape({n < 0 ? kUnknownSize : n + 1}));
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status max_gradient_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape x, c.with_rank(0, 4));
  c.set_output(0, std::move(x));
  return ok_status();
}

Status avg_gradient_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  const PartialShape x = c.input_as_shape(0);
  c.set_output(0, x.rank() == 4 ? x : PartialShape::unknown_of_rank(4));
  return ok_status();
}

std::vector<Value> max_gradient(GradContext& g) {
  return {g.graph().add("FractionalMaxPoolGrad", {g.x(0), g.y(0), g.dy(), g.y(1), g.y(2)},
                        {{"overlapping", g.attrs().get_bool("overlapping")}})};
}
std::vector<Value> avg_gradient(GradContext& g) {
  const Value shape = g.graph().add("Shape", {g.x(0)}, {{"out_type", DType::kInt64}});
  return {g.graph().add("FractionalAvgPoolGrad", {shape, g.dy(), g.y(1), g.y(2)},
                        {{"overlapping", g.attrs().get_bool("overlapping")}})};
}

}  // namespace

static void add_fractional_pool_ops(OpRegistry& ops) {
  const std::string types = "T: {float, double, int32, int64}", overlapping = "overlapping: bool = false";
  for (const bool max : {true, false}) {
    ops.add({.name = max ? "FractionalMaxPool" : "FractionalAvgPool",
             .doc = max ? "The maxima of windows of drawn sizes." : "The means of windows of drawn sizes.",
             .inputs = {"value: T"},
             .outputs = {"output: T", "row_pooling_sequence: int64", "col_pooling_sequence: int64"},
             .attrs = {"pooling_ratio: list(float) >= 4", "pseudo_random: bool = false", overlapping,
                       "deterministic: bool = false", "seed: int = 0", "seed2: int = 0", types},
             .shape = pool_shape,
             .gradient = max ? max_gradient : avg_gradient,
             .stateful = true,
             .cpu_only = true});
  }
  ops.add({.name = "FractionalMaxPoolGrad",
           .doc = "The gradient of FractionalMaxPool.",
           .inputs = {"orig_input: T", "orig_output: T", "out_backprop: T", "row_pooling_sequence: int64",
                      "col_pooling_sequence: int64"},
           .outputs = {"output: T"},
           .attrs = {overlapping, types},
           .shape = max_gradient_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n h w c, n t u c, n t u c, ., . -> n h w c; whole h w t u; linear 2"});
  ops.add({.name = "FractionalAvgPoolGrad",
           .doc = "The gradient of FractionalAvgPool.",
           .inputs = {"orig_input_tensor_shape: int64", "out_backprop: T", "row_pooling_sequence: int64",
                      "col_pooling_sequence: int64"},
           .outputs = {"output: T"},
           .attrs = {overlapping, types},
           .shape = avg_gradient_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "size(0), n t u c, ., . -> n h w c; whole h w t u; linear 1"});
}

void define_fractional_pool(OpRegistry& ops) {
  with_sharding(
      ops, add_fractional_pool_ops,
      {{"FractionalMaxPool", "whole: it draws its windows"}, {"FractionalAvgPool", "whole: it draws its windows"}});
}

namespace {
Value pool(const char* op, Value x, const FractionalPoolOptions& o) {
  if (!x.valid()) return x;
  return x.graph().add(op, {x},
                       {{"pooling_ratio", std::vector<float>{1, o.height_ratio, o.width_ratio, 1}},
                        {"pseudo_random", o.pseudo_random},
                        {"overlapping", o.overlapping},
                        {"deterministic", o.seed != 0 || o.seed2 != 0},
                        {"seed", o.seed},
                        {"seed2", o.seed2}});
}
}  // namespace

Value fractional_max_pool(Value x, const FractionalPoolOptions& options) {
  return pool("FractionalMaxPool", x, options);
}
Value fractional_avg_pool(Value x, const FractionalPoolOptions& options) {
  return pool("FractionalAvgPool", x, options);
}

}  // namespace argosy
