#include "argosy/ops/conv/conv.h"

#include <algorithm>
#include <limits>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/conv/composed.h"
#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/conv/conv_sharding.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status conv_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs attrs, read_conv(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape f, c.with_rank(1, 4));
  if (x.is_full() && f.is_full()) {
    ARGOSY_ASSIGN_OR_RETURN(const Shape input, x.full());
    ARGOSY_ASSIGN_OR_RETURN(const Shape filter, f.full());
    ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs, input, filter));
    c.set_output(0, conv_output_shape(attrs, g));
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t h, slide_size(attrs.op, attrs, 0, x[attrs.height_axis()], f[0]));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t w, slide_size(attrs.op, attrs, 1, x[attrs.width_axis()], f[1]));
  const std::int64_t in_c = x[attrs.channel_axis()];
  if (in_c > 0 && f[2] > 0 && (attrs.depthwise ? f[2] != in_c : in_c % f[2] != 0)) {
    return invalid_argument("input depth must be evenly divisible by filter depth: ", in_c, " vs ", f[2], ": ",
                            attrs.op, ": filter ", f, " does not fit an image of ", in_c, " channels")
        .with_id("ARG-SHAPE-012");
  }
  std::int64_t out_c = f[3];
  if (attrs.depthwise) {
    const std::int64_t channels = in_c >= 0 ? in_c : f[2];
    out_c = channels >= 0 && f[3] >= 0 ? channels * f[3] : kUnknownSize;
  }
  c.set_output(0, PartialShape(attrs.image(x[0], h, w, out_c)));
  return ok_status();
}

Status backprop_input_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs attrs, read_conv(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape f, c.with_rank(1, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape dy, c.with_rank(2, 4));
  const PartialShape sizes = c.input_as_shape(0);
  PartialShape out = PartialShape::unknown_of_rank(4);
  if (sizes.rank() == 2) {
    out = PartialShape(attrs.image(dy[0], sizes[0], sizes[1], f[2]));
  } else if (sizes.has_rank() && sizes.rank() != 4) {
    return invalid_argument(attrs.op, ": input_sizes must hold 4 (or 2) sizes, not ", sizes.rank());
  } else if (sizes.has_rank()) {
    out = sizes;
  }
  c.set_output(0, out);
  if (!out.is_full() || !f.is_full() || !dy.is_full()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Shape input, out.full());
  ARGOSY_ASSIGN_OR_RETURN(const Shape filter, f.full());
  ARGOSY_ASSIGN_OR_RETURN(const Shape backprop, dy.full());
  ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs, input, filter));
  return check_out_backprop(attrs, g, backprop);
}

Status backprop_filter_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs attrs, read_conv(c.op().name, c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape dy, c.with_rank(2, 4));
  const PartialShape sizes = c.input_as_shape(1);
  if (sizes.has_rank() && sizes.rank() != 4) {
    return invalid_argument(attrs.op, ": filter_sizes must hold 4 sizes, not ", sizes.rank());
  }
  c.set_output(0, sizes.has_rank() ? sizes : PartialShape::unknown_of_rank(4));
  if (!x.is_full() || !sizes.is_full() || !dy.is_full()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Shape input, x.full());
  ARGOSY_ASSIGN_OR_RETURN(const Shape filter, sizes.full());
  ARGOSY_ASSIGN_OR_RETURN(const Shape backprop, dy.full());
  ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs, input, filter));
  return check_out_backprop(attrs, g, backprop);
}

Status fused_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(conv_shape(c));
  ARGOSY_ASSIGN_OR_RETURN(const FusedOps fused, parse_fused_ops(c.op().name, c.attrs(), c.num_inputs() - 2));
  if (!fused.bias) return ok_status();
  return c.with_rank(2, 1).status();
}

// Each of the three products multiplies every output element with one window of one filter.
template <int kImage, int kFilter>
Cost conv_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const PartialShape& image = kImage < 0 ? c.output(0) : c.input(kImage);
  const PartialShape& filter = kFilter < 0 ? c.output(0) : c.input(kFilter);
  double flops = 2;
  const bool depthwise = c.op().name.starts_with("Depthwise");
  if (image.has_rank()) {
    for (const std::int64_t n : image.sizes()) flops *= static_cast<double>(std::max<std::int64_t>(n, 1));
  }
  for (int i = 0; i < 3 && filter.rank() == 4; ++i) {
    if (i < 2 || !depthwise) flops *= static_cast<double>(std::max<std::int64_t>(filter[i], 1));
  }
  cost.flops = flops;
  return cost;
}

// The related ops of a family, and the attributes they share.
struct Family {
  std::string forward, backprop_input, backprop_filter;
};
Family family_of(const std::string& op) {
  const std::string stem = op.starts_with("Depthwise") ? "DepthwiseConv2dNative" : "Conv2D";
  return {stem, stem + "BackpropInput", stem + "BackpropFilter"};
}
Value sister(GradContext& g, const std::string& op, std::vector<Value> inputs) {
  AttrMap attrs;
  for (const char* name : {"strides", "padding", "explicit_paddings", "data_format", "dilations"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  return g.graph().add(op, std::move(inputs), std::move(attrs));
}
Value shape_of(Value x) { return x.graph().add("Shape", {x}); }

std::vector<Value> conv_gradient(GradContext& g) {
  const Family ops = family_of(g.node().op->name);
  const Value x = g.x(0), filter = g.x(1), dy = g.dy();
  return {sister(g, ops.backprop_input, {shape_of(x), filter, dy}),
          sister(g, ops.backprop_filter, {x, shape_of(filter), dy})};
}

// dx = correlate'(filter, dy) is linear in both.
std::vector<Value> backprop_input_gradient(GradContext& g) {
  const Family ops = family_of(g.node().op->name);
  const Value filter = g.x(1), dy = g.x(2), d = g.dy();
  return {Value(), sister(g, ops.backprop_filter, {d, shape_of(filter), dy}), sister(g, ops.forward, {d, filter})};
}

std::vector<Value> backprop_filter_gradient(GradContext& g) {
  const Family ops = family_of(g.node().op->name);
  const Value x = g.x(0), dy = g.x(2), d = g.dy();
  return {sister(g, ops.backprop_input, {shape_of(x), d, dy}), Value(), sister(g, ops.forward, {x, d})};
}

}  // namespace

static void add_conv_ops(OpRegistry& ops) {
  define_composed_convolutions(ops);
  const auto attrs = [](const char* type, bool cudnn) {
    std::vector<std::string> list = {type,
                                     "strides: list(int)",
                                     "padding: {'SAME', 'VALID', 'EXPLICIT'}",
                                     "explicit_paddings: list(int) = []",
                                     "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
                                     "dilations: list(int) = [1, 1, 1, 1]"};
    if (cudnn) list.emplace_back("use_cudnn_on_gpu: bool = true");
    return list;
  };
  constexpr const char* kWithInt = "T: {half, bfloat16, float, double, int32}";
  constexpr const char* kFloats = "T: {half, bfloat16, float, double}";
  const auto three = [&](const std::string& stem, bool cudnn) {
    const std::string kind = cudnn ? "convolution" : "depthwise convolution";
    ops.add({.name = stem,
             .doc = "2-D " + kind + " of images with a filter.",
             .inputs = {"input: T", "filter: T"},
             .outputs = {"output: T"},
             .attrs = attrs(cudnn ? kWithInt : kFloats, cudnn),
             .shape = conv_shape,
             .gradient = conv_gradient,
             .cost = conv_cost<-1, 1>,
             .linear = Linear::kEach,
             .opcode = cudnn ? Opcode::kConv2D : Opcode::kNone,
             .fused_as = cudnn ? "_FusedConv2D" : ""});
    ops.add({.name = stem + "BackpropInput",
             .doc = "The gradient of a " + kind + " with respect to its images.",
             .inputs = {"input_sizes: int32", "filter: T", "out_backprop: T"},
             .outputs = {"output: T"},
             .attrs = attrs(cudnn ? kWithInt : kFloats, cudnn),
             .shape = backprop_input_shape,
             .gradient = backprop_input_gradient,
             .cost = conv_cost<2, 1>,
             .linear = Linear::kEach,
             .opcode = cudnn ? Opcode::kConv2DInputGrad : Opcode::kNone,
             .host_inputs = {0}});
    ops.add({.name = stem + "BackpropFilter",
             .doc = "The gradient of a " + kind + " with respect to its filter.",
             .inputs = {"input: T", "filter_sizes: int32", "out_backprop: T"},
             .outputs = {"output: T"},
             .attrs = attrs(kFloats, cudnn),
             .shape = backprop_filter_shape,
             .gradient = backprop_filter_gradient,
             .cost = conv_cost<2, -1>,
             .linear = Linear::kEach,
             .opcode = cudnn ? Opcode::kConv2DFilterGrad : Opcode::kNone,
             .host_inputs = {1}});
  };
  three("Conv2D", true);
  three("DepthwiseConv2dNative", false);
  std::vector<std::string> fused = attrs(kFloats, true);
  for (const char* more : {"num_args: int >= 0", "fused_ops: list(string) = []", "epsilon: float = 0.0001",
                           "leakyrelu_alpha: float = 0.2"}) {
    fused.emplace_back(more);
  }
  ops.add({.name = "_FusedConv2D",
           .doc = "activation(convolution + bias): what a pass makes of Conv2D, BiasAdd and an activation.",
           .inputs = {"input: T", "filter: T", "args: num_args * T"},
           .outputs = {"output: T"},
           .attrs = fused,
           .shape = fused_shape,
           .gradient = kNotDifferentiable,
           .cost = conv_cost<-1, 1>,
           .opcode = Opcode::kFusedConv2D,
           .sharding = "whole: a pass makes it after sharding"});
}

void define_conv(OpRegistry& ops) {
  with_sharding(
      ops, add_conv_ops,
      {{"FusedPadConv2D", "whole: it pads and resizes images on the way"},
       {"FusedResizeAndPadConv2D", "whole: it pads and resizes images on the way"},
       {"Conv2D", {}, conv_sharding},
       {"Conv2DBackpropInput", {}, conv_backprop_input_sharding},
       {"Conv2DBackpropFilter", {}, conv_backprop_filter_sharding},
       {"DepthwiseConv2dNative",
        "n s.. c, k.. c m -> n t.. (c m); halo s..; whole k.. t..; linear 0 | 1; layout data_format"},
       {"DepthwiseConv2dNativeBackpropInput", {}, depthwise_backprop_input_sharding},
       {"DepthwiseConv2dNativeBackpropFilter",
        "n s.. c, size(0), n t.. (c m) -> k.. c m; sum n; halo s.. t..; whole k..; linear 0 | 2; layout data_format"}});
}

namespace {

AttrMap attrs_of(const Conv2DOptions& o) {
  const bool nchw = o.data_format == "NCHW";
  const auto four = [&](const std::array<std::int64_t, 2>& pair) {
    return nchw ? std::vector<std::int64_t>{1, 1, pair[0], pair[1]} : std::vector<std::int64_t>{1, pair[0], pair[1], 1};
  };
  return {{"strides", four(o.strides)},
          {"padding", o.padding},
          {"explicit_paddings", o.explicit_paddings},
          {"data_format", o.data_format},
          {"dilations", four(o.dilations)}};
}

}  // namespace

Value conv2d(Value x, Value filter, const Conv2DOptions& options, std::string_view name) {
  if (!x.valid()) return {};
  return x.graph().add("Conv2D", {x, filter}, attrs_of(options), name);
}

Value conv2d_transpose(Value x, Value filter, const Conv2DOptions& options,
                       const std::vector<std::int64_t>& output_shape, std::string_view name) {
  if (!x.valid() || !filter.valid()) return {};
  Graph& graph = x.graph();
  std::vector<std::int64_t> sizes = output_shape;
  if (sizes.empty()) {
    const bool nchw = options.data_format == "NCHW";
    const PartialShape& shape = x.shape();
    const std::int64_t h = shape.rank() == 4 ? shape[nchw ? 2 : 1] : kUnknownSize;
    const std::int64_t w = shape.rank() == 4 ? shape[nchw ? 3 : 2] : kUnknownSize;
    if (h < 0 || w < 0) {
      graph.fail(invalid_argument("conv2d_transpose: height and width of x are not known: ", shape)
                     .with_hint("give output_shape"));
      return {};
    }
    sizes = {h * options.strides[0], w * options.strides[1]};  // batch and channels follow from x and filter
    if (options.padding != "SAME") {
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t taps = filter.shape().rank() == 4 ? filter.shape()[static_cast<int>(axis)] : kUnknownSize;
        if (taps < 0) {
          graph.fail(
              invalid_argument("conv2d_transpose: height and width of the filter are not known: ", filter.shape())
                  .with_hint("give output_shape"));
          return {};
        }
        // What the windows cover: they reach over the last stride, less what the padding takes away.
        const std::int64_t window = (taps - 1) * options.dilations[axis] + 1;
        sizes[axis] += std::max<std::int64_t>(window - options.strides[axis], 0);
        if (options.explicit_paddings.size() == 8) {
          const std::size_t at = 2 * (axis + (nchw ? 2 : 1));
          sizes[axis] -= options.explicit_paddings[at] + options.explicit_paddings[at + 1];
        }
      }
    }
  }
  std::vector<std::int32_t> narrow;
  for (const std::int64_t n : sizes) {
    if (n < 0 || n > std::numeric_limits<std::int32_t>::max()) {
      graph.fail(invalid_argument("conv2d_transpose: output_shape [", str_join(sizes), "] is out of range"));
      return {};
    }
    narrow.push_back(static_cast<std::int32_t>(n));
  }
  return graph.add("Conv2DBackpropInput", {constant(graph, Tensor::vector(narrow)), filter, x}, attrs_of(options),
                   name);
}

Value depthwise_conv2d(Value x, Value filter, const Conv2DOptions& options, std::string_view name) {
  if (!x.valid()) return {};
  return x.graph().add("DepthwiseConv2dNative", {x, filter}, attrs_of(options), name);
}

}  // namespace argosy
