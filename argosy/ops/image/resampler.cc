// Definitions: images seen at given points, as tf.contrib.resampler has them.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

// data [n, height, width, channels] at warp [n, …, 2], of x and y: [n, …, channels].
Status resampler_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape data, c.with_rank(0, 4));
  const PartialShape& warp = c.input(1);
  if (!warp.has_rank()) return ok_status();
  if (warp.rank() < 2) return invalid_argument(c.op().name, ": warp should be at least a matrix, got shape ", warp);
  if (warp[warp.rank() - 1] >= 0 && warp[warp.rank() - 1] != 2) {
    return unimplemented(c.op().name, ": the last axis of warp is x and y, but its shape is ", warp);
  }
  if (!PartialShape{data[0]}.compatible(PartialShape{warp[0]})) {
    return invalid_argument(c.op().name, ": data of shape ", data, " and warp of shape ", warp,
                            " must have the same batch size");
  }
  std::vector<std::int64_t> sizes = warp.sizes();
  sizes[0] = data[0] >= 0 ? data[0] : sizes[0];
  sizes.back() = data[3];
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status resampler_gradient_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(1));
  return ok_status();
}

std::vector<Value> resampler_gradient(GradContext& g) {
  const Value dx = g.graph().add("ResamplerGrad", {g.x(0), g.x(1), g.dy()});
  return {dx.output(0), dx.output(1)};
}

}  // namespace

void define_resampler(OpRegistry& ops) {
  const std::vector<std::string> attrs = {"T: floating"};
  ops.add({.name = "Resampler",
           .doc = "Images at points between their pixels; zeros outside.",
           .inputs = {"data: T", "warp: T"},
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = resampler_shape,
           .gradient = resampler_gradient,
           .sharding = "n h w c, n i.. 1 -> n i.. c; whole h w; linear 0"});
  ops.add({.name = "ResamplerGrad",
           .doc = "The gradients of Resampler.",
           .inputs = {"data: T", "warp: T", "grad_output: T"},
           .outputs = {"grad_data: T", "grad_warp: T"},
           .attrs = attrs,
           .shape = resampler_gradient_shape,
           .gradient = kNotDifferentiable,
           .sharding = "n h w c, n i.. 1, n i.. c -> n h w c, n i.. 1; whole h w c i.."});
}

}  // namespace argosy::image
