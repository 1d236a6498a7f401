#include <limits>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

Status image_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::unknown_of_rank(4);
  for (int i = 0; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape image, c.with_rank(i, 4));
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(image));
  }
  c.set_output(0, shape);
  return check_depth_radius(c.op().name, c.attrs().get_int("depth_radius"));
}

Cost lrn_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 60;  // two powers
  return cost;
}

std::vector<Value> lrn_gradient(GradContext& g) {
  AttrMap attrs;
  for (const char* name : {"depth_radius", "bias", "alpha", "beta"}) attrs.set(name, *g.attrs().find(name));
  return {g.graph().add("LRNGrad", {g.dy(), g.x(), g.y()}, std::move(attrs))};
}

}  // namespace

Status check_depth_radius(std::string_view op, std::int64_t radius) {
  if (radius >= 0 && radius <= std::numeric_limits<std::int32_t>::max()) return ok_status();
  return invalid_argument(op, ": depth_radius ", radius, " is not in [0, ", std::numeric_limits<std::int32_t>::max(),
                          "]");
}

void define_lrn(OpRegistry& ops) {
  const std::vector<std::string> attrs = {"depth_radius: int = 5", "bias: float = 1", "alpha: float = 1",
                                          "beta: float = 0.5", "T: {half, bfloat16, float} = float"};
  ops.add({.name = "LRN",
           .doc = "input / (bias + alpha * sum of squares of neighbouring channels) ^ beta.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = image_shape,
           .gradient = lrn_gradient,
           .cost = lrn_cost,
           .sharding = "n h w c -> n h w c; whole c"});
  ops.add({.name = "LRNGrad",
           .doc = "The gradient of LRN.",
           .inputs = {"input_grads: T", "input_image: T", "output_image: T"},
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = image_shape,
           .gradient = kNotDifferentiable,
           .cost = lrn_cost,
           .sharding = "n h w c, n h w c, n h w c -> n h w c; whole c; linear 0"});
}

}  // namespace argosy
