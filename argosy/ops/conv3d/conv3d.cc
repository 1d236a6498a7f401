#include "argosy/ops/conv3d/conv3d.h"

#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/conv/conv_sharding.h"
#include "argosy/ops/conv3d/conv3d_geometry.h"
#include "argosy/ops/pool/pool_sharding.h"

namespace argosy {

namespace {

using Sizes = std::vector<std::int64_t>;

// With channels last.
Sizes sizes_of(const windows3d::Attributes& a, const PartialShape& shape, int rank) {
  if (!shape.has_rank()) return Sizes(static_cast<std::size_t>(rank), PartialShape::kUnknown);
  const Sizes sizes = shape.sizes();
  return a.channels_first ? windows3d::channels_last(sizes) : sizes;
}

PartialShape output_shape(const windows3d::Geometry& g, const windows3d::Attributes& a, std::int64_t channels) {
  const Sizes sizes = windows3d::output_sizes(g, a, channels);
  return PartialShape(a.channels_first ? windows3d::channels_second(sizes) : sizes);
}

Status conv_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Attributes a, windows3d::read_attributes(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 5));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape filter, c.with_rank(1, 5));
  const Sizes xs = sizes_of(a, x, 5), fs = sizes_of({}, filter, 5);
  if (xs[4] >= 0 && fs[3] >= 0 && xs[4] != fs[3]) {
    return invalid_argument(c.op().name, ": the input has ", xs[4], " channels, the filter ", fs[3]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Geometry g, windows3d::place_windows(c.op().name, a, xs, fs));
  c.set_output(0, output_shape(g, a, fs[4]));
  return ok_status();
}

Status pool_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Attributes a, windows3d::read_attributes(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 5));
  const Sizes xs = sizes_of(a, x, 5);
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Geometry g, windows3d::place_windows(c.op().name, a, xs, {}));
  c.set_output(0, output_shape(g, a, xs[4]));
  return ok_status();
}

Status dilation_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Attributes a, windows3d::read_attributes(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape filter, c.with_rank(1, 3));
  const Sizes xs = sizes_of(a, x, 4), fs = sizes_of(a, filter, 3);
  if (xs[3] >= 0 && fs[2] >= 0 && xs[3] != fs[2]) {
    return invalid_argument(c.op().name, ": the input has ", xs[3], " channels, the filter ", fs[2]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const windows3d::Geometry g, windows3d::place_windows(c.op().name, a, xs, fs));
  c.set_output(0, output_shape(g, a, xs[3]));
  return ok_status();
}

// Output 0 is like input `kLike`, of this rank.
template <int kLike, int kRank>
Status like_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(windows3d::read_attributes(c.op().name, c.attrs()).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, c.with_rank(kLike, kRank));
  c.set_output(0, std::move(shape));
  return ok_status();
}
// The same, or its sizes are the integers of input `kSizes`.
template <int kSizes>
Status sized_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(windows3d::read_attributes(c.op().name, c.attrs()).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(kSizes, 1).status());
  const PartialShape shape = c.input_as_shape(kSizes);
  if (shape.has_rank() && shape.rank() != 5) {
    return invalid_argument(c.op().name, ": sizes of 5 axes are wanted, not ", shape);
  }
  c.set_output(0, shape.has_rank() ? shape : PartialShape::unknown_of_rank(5));
  return ok_status();
}

// Two operations per window cell, channel and output.
Cost conv_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& f = c.input(i);
    if (f.is_full() && f.rank() == 5 && f[4] > 0 && i == 1) {
      cost.flops *= 2 * static_cast<double>(std::max<std::int64_t>(f.elements() / f[4], 1));
    }
  }
  return cost;
}

AttrMap copied(const GradContext& g, std::initializer_list<const char*> names) {
  AttrMap attrs;
  for (const char* name : names) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  return attrs;
}
AttrMap conv_attrs(const GradContext& g) { return copied(g, {"strides", "padding", "data_format", "dilations"}); }
AttrMap pool_attrs(const GradContext& g) { return copied(g, {"ksize", "strides", "padding", "data_format"}); }

std::vector<Value> conv_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const auto shape = [&](int i) { return graph.add("Shape", {g.x(i)}); };
  return {graph.add("Conv3DBackpropInputV2", {shape(0), g.x(1), g.dy()}, conv_attrs(g)),
          graph.add("Conv3DBackpropFilterV2", {g.x(0), shape(1), g.dy()}, conv_attrs(g))};
}
std::vector<Value> conv_input_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {Value(), graph.add("Conv3DBackpropFilterV2", {g.dy(), graph.add("Shape", {g.x(1)}), g.x(2)}, conv_attrs(g)),
          graph.add("Conv3D", {g.dy(), g.x(1)}, conv_attrs(g))};
}
std::vector<Value> conv_filter_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("Conv3DBackpropInputV2", {graph.add("Shape", {g.x(0)}), g.dy(), g.x(2)}, conv_attrs(g)), Value(),
          graph.add("Conv3D", {g.x(0), g.dy()}, conv_attrs(g))};
}
std::vector<Value> max_pool_gradient(GradContext& g) {
  return {g.graph().add("MaxPool3DGrad", {g.x(), g.y(), g.dy()}, pool_attrs(g))};
}
// The gradient takes the elements at the maxima. The positions of the maxima do not depend on x.
std::vector<Value> max_pool_grad_gradient(GradContext& g) {
  return {Value(), Value(), g.graph().add("MaxPool3DGradGrad", {g.x(0), g.x(1), g.dy()}, pool_attrs(g))};
}
std::vector<Value> max_pool_grad_grad_gradient(GradContext& g) {
  return {Value(), Value(), g.graph().add("MaxPool3DGrad", {g.x(0), g.x(1), g.dy()}, pool_attrs(g))};
}
std::vector<Value> avg_pool_gradient(GradContext& g) {
  return {g.graph().add("AvgPool3DGrad", {g.graph().add("Shape", {g.x()}), g.dy()}, pool_attrs(g))};
}
std::vector<Value> avg_pool_grad_gradient(GradContext& g) {
  return {Value(), g.graph().add("AvgPool3D", {g.dy()}, pool_attrs(g))};
}
std::vector<Value> dilation_gradient(GradContext& g) {
  const AttrMap attrs = copied(g, {"strides", "rates", "padding"});
  return {g.graph().add("Dilation2DBackpropInput", {g.x(0), g.x(1), g.dy()}, attrs),
          g.graph().add("Dilation2DBackpropFilter", {g.x(0), g.x(1), g.dy()}, attrs)};
}

}  // namespace

void define_conv3d(OpRegistry& ops) {
  const std::string floats = "T: {half, bfloat16, float, double}";
  const std::string padding = "padding: {'SAME', 'VALID'}";
  const std::string format = "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'";
  const std::vector<std::string> conv = {floats, "strides: list(int) >= 5", padding, format,
                                         "dilations: list(int) = [1, 1, 1, 1, 1]"};
  ops.add({.name = "Conv3D",
           .doc = "Convolution of volumes.",
           .inputs = {"input: T", "filter: T"},
           .outputs = {"output: T"},
           .attrs = conv,
           .shape = conv_shape,
           .gradient = conv_gradient,
           .cost = conv_cost,
           .linear = Linear::kEach,
           .sharding_rule = conv_sharding});
  std::vector<std::string> with_sizes = conv;
  with_sizes.push_back("Tshape: index = int32");
  ops.add({.name = "Conv3DBackpropInputV2",
           .doc = "The gradient of Conv3D in its input.",
           .inputs = {"input_sizes: Tshape", "filter: T", "out_backprop: T"},
           .outputs = {"output: T"},
           .attrs = with_sizes,
           .shape = sized_shape<0>,
           .gradient = conv_input_gradient,
           .cost = conv_cost,
           .sharding_rule = conv_backprop_input_sharding,
           .host_inputs = {0}});
  ops.add({.name = "Conv3DBackpropFilterV2",
           .doc = "The gradient of Conv3D in its filter.",
           .inputs = {"input: T", "filter_sizes: int32", "out_backprop: T"},
           .outputs = {"output: T"},
           .attrs = conv,
           .shape = sized_shape<1>,
           .gradient = conv_filter_gradient,
           .cost = conv_cost,
           .sharding_rule = conv_backprop_filter_sharding,
           .host_inputs = {1}});
  const std::vector<std::string> pool = {"ksize: list(int) >= 5", "strides: list(int) >= 5", padding, format};
  const auto with = [](std::vector<std::string> attrs, std::initializer_list<std::string> more) {
    attrs.insert(attrs.end(), more.begin(), more.end());
    return attrs;
  };
  const std::string narrow = "{half, bfloat16, float}";
  ops.add({.name = "MaxPool3D",
           .doc = "The greatest of each window of volumes.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = with(pool, {"T: " + narrow}),
           .shape = pool_shape,
           .gradient = max_pool_gradient,
           .sharding_rule = max_pool_sharding});
  ops.add({.name = "MaxPool3DGrad",
           .doc = "The gradient of MaxPool3D.",
           .inputs = {"orig_input: TInput", "orig_output: TInput", "grad: T"},
           .outputs = {"output: T"},
           .attrs = with(pool, {"T: " + narrow + " = float", "TInput: " + narrow + " = float"}),
           .shape = like_shape<0, 5>,
           .gradient = max_pool_grad_gradient,
           .sharding_rule = max_pool_grad_sharding});
  ops.add({.name = "MaxPool3DGradGrad",
           .doc = "grad, read where the greatest of each window lies.",
           .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
           .outputs = {"output: T"},
           .attrs = with(pool, {"T: real"}),
           .shape = like_shape<1, 5>,
           .gradient = max_pool_grad_grad_gradient,
           .sharding_rule = max_pool_grad_grad_sharding});
  ops.add({.name = "AvgPool3D",
           .doc = "The mean of each window of volumes.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = with(pool, {floats}),
           .shape = pool_shape,
           .gradient = avg_pool_gradient,
           .linear = Linear::kJointly,
           .sharding_rule = avg_pool_sharding});
  ops.add({.name = "AvgPool3DGrad",
           .doc = "The gradient of AvgPool3D.",
           .inputs = {"orig_input_shape: int32", "grad: T"},
           .outputs = {"output: T"},
           .attrs = with(pool, {floats}),
           .shape = sized_shape<0>,
           .gradient = avg_pool_grad_gradient,
           .linear = Linear::kJointly,
           .sharding_rule = avg_pool_grad_sharding,
           .host_inputs = {0}});
  const std::vector<std::string> dilation = {"T: real", "strides: list(int) >= 4", "rates: list(int) >= 4", padding};
  ops.add({.name = "Dilation2D",
           .doc = "The greatest sum of image and filter over each window.",
           .inputs = {"input: T", "filter: T"},
           .outputs = {"output: T"},
           .attrs = dilation,
           .shape = dilation_shape,
           .gradient = dilation_gradient,
           .sharding = "n h w c, k l c -> n t u c; halo h w; whole k l t u"});
  ops.add({.name = "Dilation2DBackpropInput",
           .doc = "The gradient of Dilation2D in its input.",
           .inputs = {"input: T", "filter: T", "out_backprop: T"},
           .outputs = {"in_backprop: T"},
           .attrs = dilation,
           .shape = like_shape<0, 4>,
           .gradient = kNotDifferentiable,
           .sharding = "n h w c, k l c, n t u c -> n h w c; whole h w k l t u; linear 2"});
  ops.add({.name = "Dilation2DBackpropFilter",
           .doc = "The gradient of Dilation2D in its filter.",
           .inputs = {"input: T", "filter: T", "out_backprop: T"},
           .outputs = {"filter_backprop: T"},
           .attrs = dilation,
           .shape = like_shape<1, 3>,
           .gradient = kNotDifferentiable,
           .sharding = "n h w c, k l c, n t u c -> k l c; sum n; whole h w k l t u; linear 2"});
}

Value conv3d(Value x, Value filter, const Conv3dOptions& o) {
  if (!x.valid()) return x;
  return x.graph().add("Conv3D", {x, filter},
                       {{"strides", o.strides}, {"padding", o.padding}, {"dilations", o.dilations}});
}
Value max_pool3d(Value x, const Sizes& ksize, const Sizes& strides, const std::string& padding) {
  if (!x.valid()) return x;
  return x.graph().add("MaxPool3D", {x}, {{"ksize", ksize}, {"strides", strides}, {"padding", padding}});
}
Value avg_pool3d(Value x, const Sizes& ksize, const Sizes& strides, const std::string& padding) {
  if (!x.valid()) return x;
  return x.graph().add("AvgPool3D", {x}, {{"ksize", ksize}, {"strides", strides}, {"padding", padding}});
}
Value dilation2d(Value x, Value filter, const Sizes& strides, const Sizes& rates, const std::string& padding) {
  if (!x.valid()) return x;
  return x.graph().add("Dilation2D", {x, filter}, {{"strides", strides}, {"rates", rates}, {"padding", padding}});
}

}  // namespace argosy
