#include "argosy/ops/pool/pool.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/ops/pool/pool_geometry.h"
#include "argosy/ops/pool/pool_sharding.h"

namespace argosy {

namespace {

Status pooled_shape(ShapeContext& c, const PoolAttrs& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t h,
                          slide_size(attrs.op, attrs, 0, x[attrs.height_axis()], attrs.window[0]));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t w, slide_size(attrs.op, attrs, 1, x[attrs.width_axis()], attrs.window[1]));
  c.set_all_outputs(PartialShape(attrs.image(x[0], h, w, x[attrs.channel_axis()])));
  if (!x.is_full()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Shape image, x.full());
  return pool_geometry(attrs, image).status();
}

Status pool_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PoolAttrs attrs, read_pool(c.op().name, c.attrs()));
  return pooled_shape(c, attrs);
}

// Sizes of the window known before the step, or nothing.
std::optional<std::vector<std::int64_t>> known(const ShapeContext& c, int i) {
  const PartialInts* ints = c.ints(i);
  if (ints == nullptr) return std::nullopt;
  std::vector<std::int64_t> all;
  for (const auto& n : *ints) {
    if (!n) return std::nullopt;
    all.push_back(*n);
  }
  return all;
}

Status pool_v2_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  const auto ksize = known(c, 1), strides = known(c, 2);
  if (!ksize || !strides) {
    c.set_output(0, PartialShape(attrs.image(x[0], kUnknownSize, kUnknownSize, x[attrs.channel_axis()])));
    return ok_status();
  }
  ARGOSY_RETURN_IF_ERROR(set_pool_window(attrs, *ksize, *strides));
  return pooled_shape(c, attrs);
}

Status like_first(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  c.set_output(0, x);
  return ok_status();
}
Status like_second(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape y, c.with_rank(1, 4));
  c.set_output(0, y);
  return ok_status();
}
Status from_sizes(ShapeContext& c) {
  const PartialShape sizes = c.input_as_shape(0);
  if (sizes.has_rank() && sizes.rank() != 4) {
    return invalid_argument(c.op().name, ": orig_input_shape must hold 4 sizes, not ", sizes.rank());
  }
  c.set_output(0, sizes.has_rank() ? sizes : PartialShape::unknown_of_rank(4));
  return ok_status();
}

Value with_attrs(GradContext& g, const char* op, std::vector<Value> inputs, bool explicit_pads = false) {
  AttrMap attrs;
  for (const char* name : {"ksize", "strides", "padding", "data_format", "include_batch_in_index"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  if (explicit_pads) attrs.set("explicit_paddings", *g.attrs().find("explicit_paddings"));
  return g.graph().add(op, std::move(inputs), std::move(attrs));
}

std::vector<Value> max_gradient(GradContext& g) { return {with_attrs(g, "MaxPoolGrad", {g.x(), g.y(), g.dy()}, true)}; }
// The gradient of the gradient picks what was given to the winner; windows do not move with x.
std::vector<Value> max_grad_gradient(GradContext& g) {
  return {Value(), Value(), with_attrs(g, "MaxPoolGradGrad", {g.x(0), g.x(1), g.dy()})};
}
std::vector<Value> max_grad_grad_gradient(GradContext& g) {
  return {Value(), Value(), with_attrs(g, "MaxPoolGrad", {g.x(0), g.x(1), g.dy()})};
}
std::vector<Value> max_v2_gradient(GradContext& g) {
  return {with_attrs(g, "MaxPoolGradV2", {g.x(0), g.y(), g.dy(), g.x(1), g.x(2)}), Value(), Value()};
}
std::vector<Value> max_grad_v2_gradient(GradContext& g) {
  return {Value(), Value(), with_attrs(g, "MaxPoolGradGradV2", {g.x(0), g.x(1), g.dy(), g.x(3), g.x(4)}), Value(),
          Value()};
}
std::vector<Value> max_grad_grad_v2_gradient(GradContext& g) {
  return {Value(), Value(), with_attrs(g, "MaxPoolGradV2", {g.x(0), g.x(1), g.dy(), g.x(3), g.x(4)}), Value(), Value()};
}
std::vector<Value> argmax_gradient(GradContext& g) {
  return {with_attrs(g, "MaxPoolGradWithArgmax", {g.x(), g.dy(0), g.y(1)})};
}
std::vector<Value> avg_gradient(GradContext& g) {
  return {with_attrs(g, "AvgPoolGrad", {g.graph().add("Shape", {g.x()}), g.dy()})};
}
std::vector<Value> avg_grad_gradient(GradContext& g) { return {Value(), with_attrs(g, "AvgPool", {g.dy()})}; }

// One operation per element under a window.
Cost pool_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  if (const auto* ksize = c.attrs().find_as<std::vector<std::int64_t>>("ksize")) {
    for (const std::int64_t k : *ksize) cost.flops *= static_cast<double>(std::max<std::int64_t>(k, 1));
  }
  return cost;
}

const std::string kAnyReal = "T: real";
const std::string kAll =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = float";
const std::string kFloats = "T: {half, bfloat16, float, double}";
const std::string kFormat = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
const std::string kVectFormat = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'";
const std::string kPadding = "padding: {'SAME', 'VALID'}";
const std::string kAnyPadding = "padding: {'SAME', 'VALID', 'EXPLICIT'}";
const std::string kPads = "explicit_paddings: list(int) = []";
const std::string kWindow = "ksize: list(int) >= 4";
const std::string kStrides = "strides: list(int) >= 4";

void define_max_pool(OpRegistry& ops) {
  ops.add({.name = "MaxPool",
           .doc = "The largest value under each window.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {kAll, kWindow, kStrides, kAnyPadding, kPads, kVectFormat},
           .shape = pool_shape,
           .gradient = max_gradient,
           .cost = pool_cost,
           .opcode = Opcode::kMaxPool,
           .sharding_rule = max_pool_sharding});
  ops.add({.name = "MaxPoolGrad",
           .doc = "grad, given to the first largest value under each window.",
           .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
           .outputs = {"output: T"},
           .attrs = {kWindow, kStrides, kAnyPadding, kPads, kFormat, kAll},
           .shape = like_first,
           .gradient = max_grad_gradient,
           .cost = pool_cost,
           .opcode = Opcode::kMaxPoolGrad,
           .sharding_rule = max_pool_grad_sharding});
  ops.add({.name = "MaxPoolGradGrad",
           .doc = "grad, read where the largest value under each window lies.",
           .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
           .outputs = {"output: T"},
           .attrs = {kWindow, kStrides, kPadding, kFormat, kAnyReal},
           .shape = like_second,
           .gradient = max_grad_grad_gradient,
           .cost = pool_cost,
           .sharding_rule = max_pool_grad_grad_sharding});
  ops.add({.name = "MaxPoolV2",
           .doc = "MaxPool with window and strides as inputs.",
           .inputs = {"input: T", "ksize: int32", "strides: int32"},
           .outputs = {"output: T"},
           .attrs = {kAll, kPadding, kVectFormat},
           .shape = pool_v2_shape,
           .gradient = max_v2_gradient,
           .cost = pool_cost,
           .sharding_rule = max_pool_sharding,
           .host_inputs = {1, 2}});
  ops.add({.name = "MaxPoolGradV2",
           .doc = "MaxPoolGrad with window and strides as inputs.",
           .inputs = {"orig_input: T", "orig_output: T", "grad: T", "ksize: int32", "strides: int32"},
           .outputs = {"output: T"},
           .attrs = {kPadding, kFormat, kAll},
           .shape = like_first,
           .gradient = max_grad_v2_gradient,
           .cost = pool_cost,
           .sharding_rule = max_pool_grad_sharding,
           .host_inputs = {3, 4}});
  ops.add({.name = "MaxPoolGradGradV2",
           .doc = "MaxPoolGradGrad with window and strides as inputs.",
           .inputs = {"orig_input: T", "orig_output: T", "grad: T", "ksize: int32", "strides: int32"},
           .outputs = {"output: T"},
           .attrs = {kPadding, kFormat, kAnyReal},
           .shape = like_second,
           .gradient = max_grad_grad_v2_gradient,
           .cost = pool_cost,
           .sharding_rule = max_pool_grad_grad_sharding,
           .host_inputs = {3, 4}});
  ops.add({.name = "MaxPoolWithArgmax",
           .doc = "The largest value under each window, and where in the (flattened) image it lies.",
           .inputs = {"input: T"},
           .outputs = {"output: T", "argmax: Targmax"},
           .attrs = {kWindow, kStrides, "Targmax: {int32, int64} = int64", kPadding,
                     "include_batch_in_index: bool = false", kAnyReal},
           .shape = pool_shape,
           .gradient = argmax_gradient,
           .cost = pool_cost,
           .sharding_rule = max_pool_with_argmax_sharding});
  ops.add({.name = "MaxPoolGradWithArgmax",
           .doc = "grad, given to the elements that argmax names.",
           .inputs = {"input: T", "grad: T", "argmax: Targmax"},
           .outputs = {"output: T"},
           .attrs = {kWindow, kStrides, kPadding, "include_batch_in_index: bool = false", "Targmax: {int32, int64}",
                     kAnyReal},
           .shape = like_first,
           .gradient = kNotDifferentiable,
           .cost = pool_cost,
           .sharding_rule = max_pool_grad_with_argmax_sharding});
}

}  // namespace

void define_pool(OpRegistry& ops) {
  define_max_pool(ops);
  ops.add({.name = "AvgPool",
           .doc = "The mean of the values under each window, padding not counted.",
           .inputs = {"value: T"},
           .outputs = {"output: T"},
           .attrs = {kWindow, kStrides, kPadding, kFormat, kFloats},
           .shape = pool_shape,
           .gradient = avg_gradient,
           .cost = pool_cost,
           .linear = Linear::kJointly,
           .sharding_rule = avg_pool_sharding});
  ops.add({.name = "AvgPoolGrad",
           .doc = "grad, spread evenly over the values under each window.",
           .inputs = {"orig_input_shape: int32", "grad: T"},
           .outputs = {"output: T"},
           .attrs = {kWindow, kStrides, kPadding, kFormat, kFloats},
           .shape = from_sizes,
           .gradient = avg_grad_gradient,
           .cost = pool_cost,
           .linear = Linear::kJointly,
           .sharding_rule = avg_pool_grad_sharding,
           .host_inputs = {0}});
}

namespace {
Value add_pool(const char* op, Value x, const PoolOptions& o, std::string_view name) {
  if (!x.valid()) return {};
  const bool nchw = o.data_format == "NCHW";
  const auto four = [&](std::int64_t h, std::int64_t w) {
    return nchw ? std::vector<std::int64_t>{1, 1, h, w} : std::vector<std::int64_t>{1, h, w, 1};
  };
  const std::int64_t h = o.strides[0] > 0 ? o.strides[0] : o.window[0];
  const std::int64_t w = o.strides[1] > 0 ? o.strides[1] : o.window[1];
  return x.graph().add(op, {x},
                       {{"ksize", four(o.window[0], o.window[1])},
                        {"strides", four(h, w)},
                        {"padding", o.padding},
                        {"data_format", o.data_format}},
                       name);
}
}  // namespace

Value max_pool(Value x, const PoolOptions& options, std::string_view name) {
  return add_pool("MaxPool", x, options, name);
}
Value avg_pool(Value x, const PoolOptions& options, std::string_view name) {
  return add_pool("AvgPool", x, options, name);
}

}  // namespace argosy
