#include "argosy/ops/quantize/quantize.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status check_bits(const ShapeContext& c) {
  const std::int64_t bits = c.attrs().get_or<std::int64_t>("num_bits", 8);
  if (bits >= 2 && bits <= 16) return ok_status();
  return invalid_argument(c.op().name, ": num_bits must be between 2 and 16, inclusive, not ", bits);
}

// Inputs: [gradients,] inputs[, min, max].
Status fake_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_bits(c));
  const bool gradient = c.op().name.ends_with("Gradient"), channels = c.op().name.find("Channel") != std::string::npos;
  const int x = gradient ? 1 : 0;
  PartialShape shape = c.input(0);
  if (gradient) {
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(c.input(1)));
  }
  if (channels && shape.has_rank() && shape.rank() == 0) {
    return invalid_argument(c.op().name, ": inputs must have channels, their last axis");
  }
  PartialShape limits = PartialShape::scalar();
  for (int i = x + 1; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(limits, c.with_rank(i, channels ? 1 : 0));
    if (channels && shape.has_rank() && !limits.compatible({shape[shape.rank() - 1]})) {
      return invalid_argument(c.op().name, ": min and max must hold one number per channel: ", shape, " and ", limits);
    }
  }
  c.set_output(0, std::move(shape));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, limits);
  return ok_status();
}

// min and max: scalars, or, along an axis, vectors.
Status levels_shape(ShapeContext& c) {
  const std::int64_t axis = c.attrs().get_or<std::int64_t>("axis", -1);
  const int x = c.op().name.ends_with("Grad") ? 1 : 0;
  if (axis < -1) return invalid_argument(c.op().name, ": axis should be at least -1, got ", axis);
  const PartialShape& shape = c.input(x);
  if (axis >= 0 && shape.has_rank() && axis >= shape.rank()) {
    return invalid_argument(c.op().name, ": axis ", axis, " of an input of shape ", shape);
  }
  c.set_output(0, c.input(0));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, c.input(x + i));
  return ok_status();
}

std::vector<Value> args_gradient(GradContext& g) {
  AttrMap attrs;
  for (const char* name : {"min", "max"}) attrs.set(name, g.attrs().get_float(name));
  attrs.set("num_bits", g.attrs().get_int("num_bits"));
  attrs.set("narrow_range", g.attrs().get_bool("narrow_range"));
  return {g.graph().add("FakeQuantWithMinMaxArgsGradient", {g.dy(), g.x()}, attrs)};
}
std::vector<Value> vars_gradient(GradContext& g) {
  const Value d = g.graph().add(
      g.node().op->name + "Gradient", {g.dy(), g.x(0), g.x(1), g.x(2)},
      {{"num_bits", g.attrs().get_int("num_bits")}, {"narrow_range", g.attrs().get_bool("narrow_range")}});
  return {d, d.output(1), d.output(2)};
}
// As if it were not there.
std::vector<Value> straight_gradient(GradContext& g) {
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = g.dy();
  return dxs;
}
std::vector<Value> clipped_gradient(GradContext& g) {
  const Value d = g.graph().add("QuantizeAndDequantizeV4Grad", {g.dy(), g.x(0), g.x(1), g.x(2)},
                                {{"axis", g.attrs().get_int("axis")}});
  return {d, d.output(1), d.output(2)};
}

}  // namespace

static void add_quantize_ops(OpRegistry& ops) {
  const std::vector<std::string> bits = {"num_bits: int = 8", "narrow_range: bool = false"};
  std::vector<std::string> limits = {"min: float = -6.0", "max: float = 6.0"};
  limits.insert(limits.end(), bits.begin(), bits.end());
  ops.add({.name = "FakeQuantWithMinMaxArgs",
           .doc = "Numbers rounded to few levels between fixed limits.",
           .inputs = {"inputs: float"},
           .outputs = {"outputs: float"},
           .attrs = limits,
           .shape = fake_shape,
           .gradient = args_gradient,
           .sharding = "i.. -> i.."});
  ops.add({.name = "FakeQuantWithMinMaxArgsGradient",
           .doc = "The gradient of FakeQuantWithMinMaxArgs.",
           .inputs = {"gradients: float", "inputs: float"},
           .outputs = {"backprops: float"},
           .attrs = limits,
           .shape = fake_shape,
           .gradient = kNotDifferentiable,
           .sharding = "i.., i.. -> i..; linear 0"});
  for (const char* name : {"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    ops.add({.name = name,
             .doc = "Numbers rounded to few levels between limits.",
             .inputs = {"inputs: float", "min: float", "max: float"},
             .outputs = {"outputs: float"},
             .attrs = bits,
             .shape = fake_shape,
             .gradient = vars_gradient});
    ops.add({.name = std::string(name) + "Gradient",
             .doc = std::string("The gradient of ") + name + ".",
             .inputs = {"gradients: float", "inputs: float", "min: float", "max: float"},
             .outputs = {"backprops_wrt_input: float", "backprop_wrt_min: float", "backprop_wrt_max: float"},
             .attrs = bits,
             .shape = fake_shape,
             .gradient = kNotDifferentiable});
  }
  const std::string types = "T: {bfloat16, half, float, double}";
  const std::string doc = "Numbers rounded to few levels and back.";
  const std::vector<std::string> given = {"signed_input: bool = true", "num_bits: int = 8",
                                          "range_given: bool = false"};
  const auto with = [](std::vector<std::string> a, std::initializer_list<std::string> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  ops.add({.name = "QuantizeAndDequantize",
           .doc = doc,
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = with(given, {"input_min: float = 0.0", "input_max: float = 0.0", types}),
           .shape = levels_shape,
           .gradient = straight_gradient});
  const std::vector<std::string> rounding =
      with(given, {types, "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'", "narrow_range: bool = false",
                   "axis: int = -1"});
  for (const char* name : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"input: T", "input_min: T", "input_max: T"},
             .outputs = {"output: T"},
             .attrs = rounding,
             .shape = levels_shape,
             .gradient = std::string_view(name).ends_with("4") ? clipped_gradient : straight_gradient});
  }
  ops.add({.name = "QuantizeAndDequantizeV3",
           .doc = doc,
           .inputs = {"input: T", "input_min: T", "input_max: T", "num_bits: int32"},
           .outputs = {"output: T"},
           .attrs = {"signed_input: bool = true", "range_given: bool = true", types, "narrow_range: bool = false",
                     "axis: int = -1"},
           .shape = levels_shape,
           .gradient = straight_gradient});
  ops.add({.name = "QuantizeAndDequantizeV4Grad",
           .doc = "The gradient of QuantizeAndDequantizeV4: none flows outside of the limits.",
           .inputs = {"gradients: T", "input: T", "input_min: T", "input_max: T"},
           .outputs = {"input_backprop: T", "input_min_backprop: T", "input_max_backprop: T"},
           .attrs = {types, "axis: int = -1"},
           .shape = levels_shape,
           .gradient = kNotDifferentiable});
}

void define_quantize(OpRegistry& ops) {
  with_sharding(ops, add_quantize_ops,
                {{"FakeQuantWithMinMaxVars", "i.., ., . -> i.."},
                 {"FakeQuantWithMinMaxVarsGradient", "i.., i.., ., . -> i.., -, -; sum i..; linear 0"},
                 {"FakeQuantWithMinMaxVarsPerChannel", "i.. c, c, c -> i.. c"},
                 {"FakeQuantWithMinMaxVarsPerChannelGradient", "i.. c, i.. c, c, c -> i.. c, c, c; sum i..; linear 0"}},
                "whole: its range may be that of all elements");
}

Value fake_quant(Value x, Value min, Value max, int num_bits, bool narrow_range) {
  if (!x.valid()) return x;
  const char* const op = min.shape().rank() == 1 ? "FakeQuantWithMinMaxVarsPerChannel" : "FakeQuantWithMinMaxVars";
  return x.graph().add(op, {x, min, max}, {{"num_bits", num_bits}, {"narrow_range", narrow_range}});
}

}  // namespace argosy
