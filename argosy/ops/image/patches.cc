// Definitions: windows of images.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_text.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/image/patch_windows.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/segment/segment.h"
#include "argosy/ops/shape/shape.h"

namespace argosy::image {

Result<Windows> Windows::make(const AttrMap& attrs, int axes) {
  Windows w;
  const auto read = [&](const char* name, std::vector<std::int64_t>& to) {
    const auto& given = attrs.get<std::vector<std::int64_t>>(name);
    if (static_cast<int>(given.size()) != axes + 2) {
      return invalid_argument(name, " must have ", axes + 2, " elements, not ", given.size());
    }
    if (given.front() != 1 || given.back() != 1) {
      return invalid_argument(name, " must be 1 for the batch and the channels: ", str_join(given));
    }
    to.assign(given.begin() + 1, given.end() - 1);
    for (const std::int64_t size : to) {
      if (size < 1 || size > (1 << 24)) return invalid_argument(name, " must be positive: ", str_join(given));
    }
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(read("ksizes", w.sizes));
  ARGOSY_RETURN_IF_ERROR(read("strides", w.strides));
  w.rates.assign(static_cast<std::size_t>(axes), 1);
  if (attrs.find("rates") != nullptr) ARGOSY_RETURN_IF_ERROR(read("rates", w.rates));
  w.same = attrs.get_string("padding") == "SAME";
  return w;
}

Result<std::int64_t> Windows::count(std::size_t axis, std::int64_t size) const {
  const std::int64_t reach = (sizes[axis] - 1) * rates[axis] + 1;
  if (same) return (size + strides[axis] - 1) / strides[axis];
  if (size < reach) return invalid_argument("a window of ", reach, " does not fit into ", size);
  return (size - reach) / strides[axis] + 1;
}

std::int64_t Windows::before(std::size_t axis, std::int64_t size) const {
  if (!same) return 0;
  const std::int64_t reach = (sizes[axis] - 1) * rates[axis] + 1;
  const std::int64_t windows = (size + strides[axis] - 1) / strides[axis];
  return std::max<std::int64_t>(0, (windows - 1) * strides[axis] + reach - size) / 2;
}

namespace {

Status windows_shape(ShapeContext& c, int axes) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, axes + 2));
  ARGOSY_ASSIGN_OR_RETURN(const Windows w, Windows::make(c.attrs(), axes));
  std::vector<std::int64_t> sizes = {x[0]};
  std::int64_t depth = x[axes + 1];
  for (int i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    std::int64_t count = kUnknownSize;
    if (x[i + 1] >= 0) {
      ARGOSY_ASSIGN_OR_RETURN(count, w.count(axis, x[i + 1]));
    }
    sizes.push_back(count);
    if (depth > 0 && w.sizes[axis] > std::numeric_limits<std::int64_t>::max() / depth) {
      return invalid_argument(c.op().name, ": windows are too large");
    }
    if (depth >= 0) depth *= w.sizes[axis];
  }
  sizes.push_back(depth);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}
Status patches_shape(ShapeContext& c) { return windows_shape(c, 2); }
Status volume_patches_shape(ShapeContext& c) { return windows_shape(c, 3); }

// Numbers the pixels from 1, takes windows of the numbers, and sums dy by number; 0 is the padding.
Value windows_gradient(GradContext& g, int axes) {
  Graph& graph = g.graph();
  const Value x_shape = shape(g.x(0)), dy = g.dy();
  const Value batch = slice(x_shape, {0}, {1}), pixels_shape = slice(x_shape, {1}, {axes});
  const Value channels = slice(x_shape, {axes + 1}, {1});
  const Value one = constant(graph, Tensor::vector<std::int32_t>({1}));
  const Value pixels = reduce_prod(pixels_shape, {}, false);
  const Value numbers =
      reshape(range(constant(graph, 1), pixels + 1, constant(graph, 1)), concat({one, pixels_shape, one}, 0));
  const Value taken = graph.add(g.node().op->name, {numbers}, [&] {
    AttrMap attrs = g.attrs();
    attrs.set("T", DType::kInt32);
    return attrs;
  }());
  // dy as [windows' places, batch * channels].
  const Value minus = constant(graph, Tensor::vector<std::int32_t>({-1}));
  const Value split = reshape(dy, concat({batch, minus, channels}, 0));
  const Value by_place = transpose(split, {1, 0, 2});
  const Value flat = reshape(by_place, concat({minus, batch * channels}, 0));
  const Value sums = unsorted_segment_sum(flat, reshape(taken, {-1}), pixels + 1);
  const Value dx = reshape(slice(sums, {1, 0}, {-1, -1}), concat({minus, batch, channels}, 0));
  return reshape(transpose(dx, {1, 0, 2}), x_shape);
}
std::vector<Value> patches_gradient(GradContext& g) { return {windows_gradient(g, 2)}; }
std::vector<Value> volume_patches_gradient(GradContext& g) { return {windows_gradient(g, 3)}; }

Status glimpse_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape offsets, c.with_rank(2, 2));
  if (offsets[1] >= 0 && offsets[1] != 2)
    return invalid_argument(c.op().name, ": offsets are [batch, 2], not ", offsets);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape batch, PartialShape{x[0]}.merge({offsets[0]}));
  const auto size = [&](int k) {
    const auto known = c.int_at(1, k);
    return known && *known > 0 ? *known : kUnknownSize;
  };
  c.set_output(0, PartialShape{batch[0], size(0), size(1), x[3]});
  return ok_status();
}

Status random_crop_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 3));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  const auto size = [&](int k) {
    const auto known = c.int_at(1, k);
    return known && *known >= 0 ? *known : kUnknownSize;
  };
  c.set_output(0, PartialShape{size(0), size(1), x[2]});
  return ok_status();
}

Status projective_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape transforms, c.with_rank(1, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  if (transforms[1] >= 0 && transforms[1] != 8) {
    return invalid_argument(c.op().name, ": transforms are [n, 8], not ", transforms);
  }
  if (c.num_inputs() > 3) ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  const auto size = [&](int k) {
    const auto known = c.int_at(2, k);
    return known && *known > 0 ? *known : kUnknownSize;
  };
  c.set_output(0, PartialShape{x[0], size(0), size(1), x[3]});
  return ok_status();
}

// As in TensorFlow: the gradient, transformed by the inverse. The inverse is made of cofactors, divided by the last
// one.
std::vector<Value> projective_gradient(GradContext& g) {
  const Value t = g.x(1);
  const auto column = [&](std::int64_t k) { return slice(t, {0, k}, {-1, 1}); };
  const Value a = column(0), b = column(1), c = column(2), d = column(3), e = column(4), f = column(5);
  const Value h = column(6), i = column(7);
  const std::vector<Value> cofactors = {e - f * i, c * i - b,     b * f - c * e, f * h - d,
                                        a - c * h, c * d - a * f, d * i - e * h, b * h - a * i};
  const Value inverse = concat(cofactors, 1) / (a * e - b * d);
  const Value image_size = slice(shape(g.x(0)), {1}, {2});
  AttrMap attrs = {{"interpolation", g.attrs().get_string("interpolation")},
                   {"fill_mode", g.attrs().get_string("fill_mode")}};
  const bool v3 = g.num_inputs() > 3;
  std::vector<Value> inputs = {g.dy(), inverse, image_size};
  if (v3) inputs.push_back(g.x(3));
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx[0] = g.graph().add(v3 ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2", inputs, attrs);
  return dx;
}

// Not sharded: each device would draw other noise.
Result<ShardingRule> glimpse_sharding(const ShapeContext& c) {
  if (c.attrs().get_string("noise") != "zero") {
    return ShardingRule{.kind = ShardingRule::Kind::kOnce, .why = "it draws noise"};
  }
  return sharding_rule_from_text("n h w c, ., n 1 -> n t u c; whole h w t u c", c);
}

}  // namespace

void define_patches(OpRegistry& ops) {
  ops.add({.name = "ExtractGlimpse",
           .doc = "Windows of images around given places.",
           .inputs = {"input: float", "size: int32", "offsets: float"},
           .outputs = {"glimpse: float"},
           .attrs = {"centered: bool = true", "normalized: bool = true", "uniform_noise: bool = true",
                     "noise: string = 'uniform'"},
           .shape = glimpse_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding_rule = glimpse_sharding,
           .host_inputs = {1}});
  ops.add({.name = "ExtractGlimpseV2",
           .doc = "Windows of images around given places.",
           .inputs = {"input: float", "size: int32", "offsets: float"},
           .outputs = {"glimpse: float"},
           .attrs = {"centered: bool = true", "normalized: bool = true", "uniform_noise: bool = true",
                     "noise: string = 'uniform'"},
           .shape = glimpse_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding_rule = glimpse_sharding,
           .host_inputs = {1}});
  ops.add({.name = "ExtractImagePatches",
           .doc = "Windows of images, side by side in the channels.",
           .inputs = {"images: T"},
           .outputs = {"patches: T"},
           .attrs = {"ksizes: list(int) >= 4", "strides: list(int) >= 4", "rates: list(int) >= 4",
                     "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
                     "complex64, complex128, bool}",
                     "padding: {'SAME', 'VALID'}"},
           .shape = patches_shape,
           .gradient = patches_gradient,
           .sharding = "n s.. c -> n t.. 1; whole s.. t.. c; linear 0"});
  ops.add({.name = "ExtractVolumePatches",
           .doc = "Windows of volumes, side by side in the channels.",
           .inputs = {"input: T"},
           .outputs = {"patches: T"},
           .attrs = {"ksizes: list(int) >= 5", "strides: list(int) >= 5", "T: real", "padding: {'SAME', 'VALID'}"},
           .shape = volume_patches_shape,
           .gradient = volume_patches_gradient,
           .sharding = "n s.. c -> n t.. 1; whole s.. t.. c; linear 0"});
  ops.add({.name = "RandomCrop",
           .doc = "A random window of an image.",
           .inputs = {"image: T", "size: int64"},
           .outputs = {"output: T"},
           .attrs = {"T: {uint8, int8, int16, int32, int64, float, double}", "seed: int = 0", "seed2: int = 0"},
           .shape = random_crop_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: it may draw random numbers",
           .host_inputs = {1}});
  ops.add({.name = "ImageProjectiveTransformV2",
           .doc = "Images seen through a projective transform.",
           .inputs = {"images: dtype", "transforms: float", "output_shape: int32"},
           .outputs = {"transformed_images: dtype"},
           .attrs = {"dtype: {uint8, int32, int64, half, bfloat16, float, double}", "interpolation: string",
                     "fill_mode: string = 'CONSTANT'"},
           .shape = projective_shape,
           .gradient = projective_gradient,
           .sharding = "n h w c, n 1, . -> n t u c; whole h w t u; broadcasts",
           .host_inputs = {2}});
  ops.add({.name = "ImageProjectiveTransformV3",
           .doc = "Images seen through a projective transform.",
           .inputs = {"images: dtype", "transforms: float", "output_shape: int32", "fill_value: float"},
           .outputs = {"transformed_images: dtype"},
           .attrs = {"dtype: {uint8, int32, int64, half, bfloat16, float, double}", "interpolation: string",
                     "fill_mode: string = 'CONSTANT'"},
           .shape = projective_shape,
           .gradient = projective_gradient,
           .sharding = "n h w c, n 1, ., . -> n t u c; whole h w t u; broadcasts",
           .host_inputs = {2, 3}});
}

}  // namespace argosy::image
