#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

// The channel axis of x, whose rank must be what the format says.
Result<int> channel_axis(const ShapeContext& c, int input) {
  const std::string format = c.attrs().get_string("data_format");
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(input, static_cast<int>(format.size())));
  return format[1] == 'C' ? 1 : x.rank() - 1;
}

// Input i is a vector of one number a channel; in training without running statistics it may be empty.
Status check_channels(const ShapeContext& c, int i, std::int64_t channels, bool may_be_empty) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape v, c.with_rank(i, 1));
  if (v[0] < 0 || channels < 0 || v[0] == channels || (may_be_empty && v[0] == 0)) return ok_status();
  return invalid_argument(c.op().name, ": input ", i, " (", c.op().input_args[i].name, ") has ", v[0], " elements for ",
                          channels, " channels")
      .with_id("ARG-SHAPE-014");
}

Status forward_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const int axis, channel_axis(c, 0));
  const std::int64_t channels = c.input(0).has_rank() ? c.input(0)[axis] : PartialShape::kUnknown;
  const bool batch_only = c.attrs().get_bool("is_training") && c.attrs().get_float("exponential_avg_factor") == 1;
  for (int i = 1; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(check_channels(c, i, channels, i > 2 && batch_only));
  c.set_output(0, c.input(0));
  const std::int64_t known = channels >= 0 ? channels : c.input(1).rank() == 1 ? c.input(1)[0] : channels;
  for (int i = 1; i < 5; ++i) c.set_output(i, {known});
  if (c.num_outputs() > 5) c.set_output(5, {0});
  if (c.num_inputs() < 6) return ok_status();  // else: what is added, of x's shape
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape y, c.input(0).merge(c.input(5)));
  c.set_output(0, y);
  return ok_status();
}

Status gradient_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const int axis, channel_axis(c, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.input(0).merge(c.input(1)));
  const std::int64_t channels = x.has_rank() ? x[axis] : PartialShape::kUnknown;
  for (int i = 2; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(check_channels(c, i, channels, false));
  c.set_output(0, x);
  c.set_output(1, {channels});
  c.set_output(2, {channels});
  c.set_output(3, {0});
  c.set_output(4, {0});
  if (c.num_outputs() > 5) c.set_output(5, x);
  if (c.num_inputs() < 8) return ok_status();
  ARGOSY_RETURN_IF_ERROR(check_channels(c, 6, channels, false));
  return x.merge(c.input(7)).status();
}

Cost batch_norm_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 6;
  return cost;
}

// Through y only: statistics are what the op keeps for us. Not training, the statistics used are inputs 3 and 4.
std::vector<Value> batch_norm_gradient(GradContext& g) {
  const std::string& op = g.node().op->name;
  const bool training = g.attrs().get_bool("is_training");
  const bool v3 = op.ends_with("V3");
  std::vector<Value> inputs = {g.dy(0), g.x(0), g.x(1), training ? g.y(3) : g.x(3), training ? g.y(4) : g.x(4)};
  if (v3) inputs.push_back(g.y(5));
  AttrMap attrs;
  for (const char* name : {"epsilon", "data_format", "is_training"}) attrs.set(name, *g.attrs().find(name));
  const std::string version = op.substr(std::string("FusedBatchNorm").size());
  const Value d = g.graph().add("FusedBatchNormGrad" + version, std::move(inputs), std::move(attrs));
  return {d, d.output(1), d.output(2), Value(), Value()};
}

}  // namespace

void define_batch_norm(OpRegistry& ops) {
  for (const int version : {1, 2, 3}) {
    const std::string suffix = version == 1 ? "" : str_cat("V", version);
    const std::string u = version == 1 ? "T" : "U";  // of the statistics
    const std::string format = version == 3 ? "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'"
                                            : "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
    std::vector<std::string> types = {version == 1 ? "T: {float}" : "T: {half, bfloat16, float}"};
    if (version > 1) types.emplace_back("U: {float}");
    std::vector<std::string> attrs = types;
    for (const char* attr : {"epsilon: float = 0.0001", "exponential_avg_factor: float = 1"}) attrs.emplace_back(attr);
    attrs.push_back(format);
    attrs.emplace_back("is_training: bool = true");
    std::vector<std::string> outputs = {"y: T", "batch_mean: " + u, "batch_variance: " + u, "reserve_space_1: " + u,
                                        "reserve_space_2: " + u};
    if (version == 3) outputs.push_back("reserve_space_3: " + u);
    ops.add({.name = "FusedBatchNorm" + suffix,
             .doc = "Batch normalisation: scale * (x - mean) / sqrt(variance + epsilon) + offset for each channel.",
             .inputs = {"x: T", "scale: " + u, "offset: " + u, "mean: " + u, "variance: " + u},
             .outputs = outputs,
             .attrs = attrs,
             .shape = forward_shape,
             .gradient = batch_norm_gradient,
             .cost = batch_norm_cost,
             .opcode = Opcode::kBatchNorm,
             .batch_statistics = true});

    const std::string scale = version == 1 ? "scale: T" : "scale: float";
    std::vector<std::string> inputs = {"y_backprop: T", "x: T", scale, "reserve_space_1: " + u,
                                       "reserve_space_2: " + u};
    if (version == 3) inputs.push_back("reserve_space_3: " + u);
    const std::string third = version == 3 ? "reserve_space_4: " : "reserve_space_3: ";
    const std::string fourth = version == 3 ? "reserve_space_5: " : "reserve_space_4: ";
    attrs = types;
    attrs.emplace_back("epsilon: float = 0.0001");
    attrs.push_back(format);
    attrs.emplace_back("is_training: bool = true");
    ops.add({.name = "FusedBatchNormGrad" + suffix,
             .doc = "The gradient of batch normalisation.",
             .inputs = inputs,
             .outputs = {"x_backprop: T", "scale_backprop: " + u, "offset_backprop: " + u, third + u, fourth + u},
             .attrs = attrs,
             .shape = gradient_shape,
             .gradient = batch_norm_grad_gradient,
             .cost = batch_norm_cost,
             .opcode = Opcode::kBatchNormGrad,
             .batch_statistics = true});
  }
  const std::vector<std::string> attrs = {"T: {half, bfloat16, float}",
                                          "U: {float}",
                                          "epsilon: float = 0.0001",
                                          "num_side_inputs: int >= 0 = 0",
                                          "activation_mode: string = 'Identity'",
                                          "data_format: string = 'NHWC'",
                                          "is_training: bool = true"};
  std::vector<std::string> forward = attrs;
  forward.emplace_back("exponential_avg_factor: float = 1");
  ops.add({.name = "_FusedBatchNormEx",
           .doc = "activation(batch normalisation + side input): what a pass makes of FusedBatchNorm, Add and Relu.",
           .inputs = {"x: T", "scale: U", "offset: U", "mean: U", "variance: U", "side_input: num_side_inputs * T"},
           .outputs = {"y: T", "batch_mean: U", "batch_variance: U", "reserve_space_1: U", "reserve_space_2: U",
                       "reserve_space_3: U"},
           .attrs = forward,
           .shape = forward_shape,
           .gradient = kNotDifferentiable,
           .cost = batch_norm_cost,
           .opcode = Opcode::kFusedBatchNorm,
           .in_place = {{5, 0}},
           .sharding = "whole: a pass makes it after sharding"});
  ops.add({.name = "_FusedBatchNormGradEx",
           .doc = "The gradient of _FusedBatchNormEx: what a pass makes of ReluGrad and FusedBatchNormGrad.",
           .inputs = {"y_backprop: T", "x: T", "scale: float", "reserve_space_1: U", "reserve_space_2: U",
                      "reserve_space_3: U", "offset: float", "y: T"},
           .outputs = {"x_backprop: T", "scale_backprop: U", "offset_backprop: U", "reserve_space_4: U",
                       "reserve_space_5: U", "side_input_backprop: num_side_inputs * T"},
           .attrs = attrs,
           .shape = gradient_shape,
           .gradient = kNotDifferentiable,
           .cost = batch_norm_cost,
           .sharding = "whole: a pass makes it after sharding"});
}

}  // namespace argosy
