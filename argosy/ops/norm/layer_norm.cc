#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

Status check_row(const ShapeContext& c, int x, int i) {
  if (c.input(x).rank() == 0) return invalid_argument(c.op().name, ": x must have an axis").with_id("ARG-SHAPE-004");
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape v, c.with_rank(i, 1));
  const std::int64_t n = c.input(x).has_rank() ? c.input(x).sizes().back() : PartialShape::kUnknown;
  if (v[0] < 0 || n < 0 || v[0] == n) return ok_status();
  return invalid_argument(c.op().name, ": input ", i, " (", c.op().input_args[i].name, ") has ", v[0],
                          " elements for rows of ", n)
      .with_id("ARG-SHAPE-014");
}

Status forward_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_row(c, 0, 1));
  ARGOSY_RETURN_IF_ERROR(check_row(c, 0, 2));
  c.set_output(0, c.input(0));
  return ok_status();
}

Status gradient_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_row(c, 1, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.input(0).merge(c.input(1)));
  c.set_output(0, x);
  c.set_output(1, c.input(2));
  c.set_output(2, c.input(2));
  return ok_status();
}

Cost layer_norm_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 6;
  return cost;
}

// Mean and variance are found again: a row is in the nearest cache, and 16-bit floats could not hold them.
std::vector<Value> layer_norm_gradient(GradContext& g) {
  const Value d =
      g.graph().add("_LayerNormGrad", {g.dy(), g.x(0), g.x(1)}, {{"epsilon", g.attrs().get_float("epsilon")}});
  return {d, d.output(1), d.output(2)};
}

}  // namespace

void define_layer_norm(OpRegistry& ops) {
  const std::string floats = "T: {half, bfloat16, float, double}";
  ops.add({.name = "_LayerNorm",
           .doc = "scale * (x - mean) / sqrt(variance + epsilon) + offset over the last axis.",
           .inputs = {"x: T", "scale: T", "offset: T"},
           .outputs = {"y: T"},
           .attrs = {floats, "epsilon: float = 0.00001"},
           .shape = forward_shape,
           .gradient = layer_norm_gradient,
           .cost = layer_norm_cost,
           .in_place = {{0, 0}},
           .sharding = "i.. c, c, c -> i.. c; whole c"});
  ops.add({.name = "_LayerNormGrad",
           .doc = "The gradient of _LayerNorm.",
           .inputs = {"dy: T", "x: T", "scale: T"},
           .outputs = {"dx: T", "dscale: T", "doffset: T"},
           .attrs = {floats, "epsilon: float = 0.00001"},
           .shape = gradient_shape,
           .gradient = kNotDifferentiable,
           .cost = layer_norm_cost,
           .sharding = "i.. c, i.. c, c -> i.. c, c, c; sum i..; whole c; linear 0"});
}

}  // namespace argosy
