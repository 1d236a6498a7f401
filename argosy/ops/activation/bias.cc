#include "argosy/ops/activation/bias.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/activation/activation.h"

namespace argosy {

namespace {

bool is_nchw(const AttrMap& attrs) { return attrs.get_or<std::string>("data_format", "NHWC") == "NCHW"; }

Status at_least_matrix(const ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() < 2) {
    return invalid_argument(c.op().name, ": input 0 must have rank 2 or more, not shape ", c.input(0))
        .with_id("ARG-SHAPE-004");
  }
  return ok_status();
}

std::int64_t channels_of(const PartialShape& shape, bool nchw) {
  return shape.has_rank() ? shape[nchw ? 1 : shape.rank() - 1] : PartialShape::kUnknown;
}

Status bias_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(at_least_matrix(c));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape bias, c.with_rank(1, 1));
  PartialShape out = c.input(0);
  const std::int64_t channels = channels_of(out, is_nchw(c.attrs()));
  if (bias[0] >= 0 && channels >= 0 && bias[0] != channels) {
    return invalid_argument("Must provide as many biases as the last dimension of the input tensor: ", bias, " vs. ",
                            out, ": ", c.op().name, ": ", bias[0], " biases for ", channels, " channels of ", out)
        .with_id("ARG-SHAPE-014");
  }
  if (bias[0] >= 0 && channels < 0 && out.has_rank()) {
    std::vector<std::int64_t> sizes = out.sizes();
    sizes[is_nchw(c.attrs()) ? 1 : sizes.size() - 1] = bias[0];
    out = PartialShape(std::move(sizes));
  }
  c.set_output(0, out);
  return ok_status();
}

Status bias_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(at_least_matrix(c));
  c.set_output(0, {channels_of(c.input(0), is_nchw(c.attrs()))});
  return ok_status();
}

AttrMap format_of(GradContext& g) { return {{"data_format", g.attrs().get_or<std::string>("data_format", "NHWC")}}; }

std::vector<Value> bias_gradient(GradContext& g) {
  return {g.dy(), g.graph().add("BiasAddGrad", {g.dy()}, format_of(g))};
}
std::vector<Value> bias_grad_gradient(GradContext& g) {
  return {g.graph().add("BiasAdd", {g.graph().add("ZerosLike", {g.x()}), g.dy()}, format_of(g))};
}

}  // namespace

void define_bias(OpRegistry& ops) {
  const std::string format = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
  ops.add({.name = "BiasAdd",
           .doc = "value + bias, one number a channel.",
           .inputs = {"value: T", "bias: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number", format},
           .shape = bias_shape,
           .gradient = bias_gradient,
           .linear = Linear::kJointly,
           .opcode = Opcode::kBiasAdd,
           .in_place = {{0, 0}},
           .sharding = "n i.. c, c -> n i.. c; layout data_format"});
  ops.add({.name = "BiasAddV1",
           .doc = "value + bias, one number a column.",
           .inputs = {"value: T", "bias: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number"},
           .shape = bias_shape,
           .gradient = bias_gradient,
           .linear = Linear::kJointly,
           .in_place = {{0, 0}},
           .sharding = "i.. c, c -> i.. c"});
  ops.add({.name = "BiasAddGrad",
           .doc = "The sum over all but the channels.",
           .inputs = {"out_backprop: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number", format},
           .shape = bias_grad_shape,
           .gradient = bias_grad_gradient,
           .linear = Linear::kEach,
           .sharding = "n i.. c -> c; sum n i..; linear 0; layout data_format"});
}

Value bias_add(Value x, Value bias, std::string_view data_format, std::string_view name) {
  if (!x.valid()) return {};
  return x.graph().add("BiasAdd", {x, bias}, {{"data_format", std::string(data_format)}}, name);
}

}  // namespace argosy
