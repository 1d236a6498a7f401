// Definitions: BatchNormWithGlobalNormalization, of TensorFlow before 1.0, whose statistics are inputs; and its
// gradient.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

// An image and vectors of its channels; input `same`, where there is one, is of the image's shape.
Result<PartialShape> checked(ShapeContext& c, int same) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape image, c.with_rank(0, 4));
  PartialShape channels{image[3]};
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (i == same) {
      ARGOSY_ASSIGN_OR_RETURN(const PartialShape other, c.with_rank(i, 4));
      ARGOSY_ASSIGN_OR_RETURN(image, image.merge(other));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(const PartialShape vector, c.with_rank(i, 1));
      ARGOSY_ASSIGN_OR_RETURN(channels, channels.merge(vector));
    }
  }
  return image.merge({PartialShape::kUnknown, PartialShape::kUnknown, PartialShape::kUnknown, channels[0]});
}
Status norm_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape image, checked(c, -1));
  c.set_output(0, image);
  return ok_status();
}
Status norm_gradient_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape image, checked(c, 4));
  c.set_all_outputs(PartialShape{image[3]});
  c.set_output(0, image);
  return ok_status();
}

std::vector<Value> norm_gradient(GradContext& g) {
  const Value d =
      g.graph().add("BatchNormWithGlobalNormalizationGrad", {g.x(0), g.x(1), g.x(2), g.x(4), g.dy()}, g.attrs());
  return {d, d.output(1), d.output(2), d.output(3), d.output(4)};
}

}  // namespace

void define_global_norm(OpRegistry& ops) {
  const std::vector<std::string> attrs = {
      "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, "
      "quint16, "
      "uint16, complex128, half, uint32, uint64}",
      "variance_epsilon: float", "scale_after_normalization: bool"};
  ops.add({.name = "BatchNormWithGlobalNormalization",
           .doc = "(t - m) / sqrt(v + variance_epsilon), times gamma if asked for, plus beta.",
           .inputs = {"t: T", "m: T", "v: T", "beta: T", "gamma: T"},
           .outputs = {"result: T"},
           .attrs = attrs,
           .shape = norm_shape,
           .gradient = norm_gradient,
           .sharding = "n h w c, c, c, c, c -> n h w c"});
  ops.add({.name = "BatchNormWithGlobalNormalizationGrad",
           .doc = "The gradients of BatchNormWithGlobalNormalization.",
           .inputs = {"t: T", "m: T", "v: T", "gamma: T", "backprop: T"},
           .outputs = {"dx: T", "dm: T", "dv: T", "db: T", "dg: T"},
           .attrs = attrs,
           .shape = norm_gradient_shape,
           .gradient = kNotDifferentiable,
           .sharding = "n h w c, c, c, c, n h w c -> n h w c, c, c, c, c; sum n h w; linear 4"});
}

}  // namespace argosy
