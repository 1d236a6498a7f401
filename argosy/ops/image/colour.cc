// Definitions: colours.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"

namespace argosy::image {

namespace {

Status last_three_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (x.rank() == 0) return invalid_argument(c.op().name, ": input must be at least 1D");
  if (x.has_rank() && x.sizes().back() >= 0 && x.sizes().back() != 3) {
    const Code code = c.op().name.starts_with("Adjust") ? Code::kInvalidArgument : Code::kFailedPrecondition;
    return Status(code, str_cat(c.op().name, ": the last axis must be 3 channels, not of ", x));
  }
  return same_as_input(c);
}

Status contrast_shape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() < 3) {
    return invalid_argument(c.op().name, ": input must be at least 3-D, not ", c.input(0));
  }
  for (int i = 1; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return same_as_input(c);
}
Status contrast_v1_shape(ShapeContext& c) { return contrast_shape(c); }

Status hue_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(contrast_shape(c));
  return last_three_shape(c);
}

// With the largest channel M, the smallest m, R = M - m: v = M, s = R / M, h = N / 6R + a constant, where N is the
// difference of the two channels behind the largest. Each is made of M, m and N, whose slopes are masks.
std::vector<Value> rgb_to_hsv_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value x = reshape(g.x(0), {-1, 3}), dy = reshape(g.dy(), {-1, 3});
  const DType dtype = x.dtype();
  const auto mask = [&](Value place) { return cast(one_hot(place, 3), dtype); };
  const Value most = mask(argmax(x, 1)), least = mask(argmin(x, 1));
  const Value turn = cast(constant(graph, Tensor::of<float>({3, 3}, {0, 1, -1, -1, 0, 1, 1, -1, 0})), dtype);
  const Value behind = matmul(most, turn);
  const auto sum = [](Value v) { return reduce_sum(v, Axes{1}, true); };
  const Value m = sum(x * most), range = m - sum(x * least), n = sum(x * behind);
  const auto dy_of = [&](std::int64_t k) { return slice(dy, {0, k}, {-1, 1}); };
  const Value drange = most - least;
  const Value six = constant_like(range, 6.0);
  const Value dh = div_no_nan(behind, range * six) - div_no_nan(n, range * range * six) * drange;
  const Value ds = div_no_nan(drange, m) - div_no_nan(range, m * m) * most;
  return {reshape(dy_of(0) * dh + dy_of(1) * ds + dy_of(2) * most, shape(g.x(0)))};
}

}  // namespace

void define_colour(OpRegistry& ops) {
  ops.add({.name = "RGBToHSV",
           .doc = "Hue, saturation and value of colours in 0 to 1.",
           .inputs = {"images: T"},
           .outputs = {"output: T"},
           .attrs = {"T: floating = float"},
           .shape = last_three_shape,
           .gradient = rgb_to_hsv_gradient,
           .sharding = "i.. c -> i.. c; whole c"});
  ops.add({.name = "HSVToRGB",
           .doc = "Colours of hue, saturation and value.",
           .inputs = {"images: T"},
           .outputs = {"output: T"},
           .attrs = {"T: floating = float"},
           .shape = last_three_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "i.. c -> i.. c; whole c"});
  ops.add({.name = "AdjustContrast",
           .doc = "Contrast scaled around each channel's mean, within limits.",
           .inputs = {"images: T", "contrast_factor: float", "min_value: float", "max_value: float"},
           .outputs = {"output: float"},
           .attrs = {"T: {uint8, int8, int16, int32, int64, float, double}"},
           .shape = contrast_v1_shape,
           .gradient = kNotDifferentiable,
           .sharding = "i.. h w c, ., ., . -> i.. h w c; whole h w"});
  ops.add({.name = "AdjustContrastv2",
           .doc = "Contrast scaled around each channel's mean.",
           .inputs = {"images: T", "contrast_factor: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {half, float} = float"},
           .shape = contrast_shape,
           .gradient = kNotDifferentiable,
           .sharding = "i.. h w c, . -> i.. h w c; whole h w"});
  ops.add({.name = "AdjustHue",
           .doc = "Hues turned.",
           .inputs = {"images: T", "delta: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {half, float} = float"},
           .shape = hue_shape,
           .gradient = kNotDifferentiable,
           .sharding = "i.. c, . -> i.. c; whole c"});
  ops.add({.name = "AdjustSaturation",
           .doc = "Saturations scaled.",
           .inputs = {"images: T", "scale: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {half, float} = float"},
           .shape = hue_shape,
           .gradient = kNotDifferentiable,
           .sharding = "i.. c, . -> i.. c; whole c"});
}

}  // namespace argosy::image
