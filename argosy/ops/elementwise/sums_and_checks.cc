// Elementwise ops that are in no table: AddN, CheckNumerics, ApproximateEqual.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/elementwise/elementwise_registration.h"

namespace argosy::elementwise {

namespace {

std::vector<Value> add_n_gradient(GradContext& g) {
  return std::vector<Value>(static_cast<std::size_t>(g.num_inputs()), g.dy());
}

std::vector<Value> check_numerics_gradient(GradContext& g) {
  const std::string message =
      str_cat("Not a number (NaN) or infinity (Inf) values detected in gradient. ", g.attrs().get_string("message"));
  return {g.graph().add("CheckNumerics", {g.dy()}, {{"message", message}})};
}

// TensorFlow's message names the first input and the one that differs.
Status add_n_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(0).compatible(c.input(i))) continue;
    return invalid_argument("Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: ",
                            c.input(0), " != input ", i, ": ", c.input(i));
  }
  return merged_inputs(c);
}

}  // namespace

void define_sums_and_checks(OpRegistry& ops) {
  ops.add({.name = "AddN",
           .doc = "The sum of all inputs, which have one shape.",
           .inputs = {"inputs: N * T"},
           .outputs = {"sum: T"},
           .attrs = {"N: int >= 1", "T: {number, variant}"},
           .shape = add_n_shape,
           .gradient = add_n_gradient,
           .commutative = true,
           .elementwise = true,
           .linear = Linear::kJointly,
           .in_place = {{0, 0}}});
  for (const char* name : {"CheckNumerics", "CheckNumericsV2"}) {
    ops.add({.name = name,
             .doc = "tensor, or an error when any of it is infinite or not a number.",
             .inputs = {"tensor: T"},
             .outputs = {"output: T"},
             .attrs = {kFloats, "message: string"},
             .shape = same_as_input,
             .gradient = check_numerics_gradient,
             .stateful = true,
             .effect = Effect::kChecks,
             .linear = Linear::kJointly,
             .forwards = true});
  }
  ops.add({.name = "ApproximateEqual",
           .doc = "|x - y| <= tolerance",
           .inputs = {"x: T", "y: T"},
           .outputs = {"z: bool"},
           .attrs = {"T: number", "tolerance: float = 0.00001"},
           .shape = merged_inputs,
           .gradient = kNotDifferentiable,
           .commutative = true,
           .elementwise = true,
           .blocks_gradient = true});
}

}  // namespace argosy::elementwise

namespace argosy {

Value add_n(const std::vector<Value>& values) {
  return values.empty() || !values[0].valid() ? Value() : values[0].graph().add("AddN", values);
}

Value check_numerics(Value x, std::string_view message) {
  return x.valid() ? x.graph().add("CheckNumerics", {x}, {{"message", std::string(message)}}) : x;
}

}  // namespace argosy
