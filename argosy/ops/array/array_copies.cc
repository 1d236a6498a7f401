// Ops that return their input itself, a copy of it, or a tensor of its shape.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/shape/shape_sharding.h"

namespace argosy {

namespace {

Status ensure_shape_fn(ShapeContext& c) {
  const auto& wanted = c.attrs().get<PartialShape>("shape");
  auto both = c.input(0).merge(wanted);
  if (!both.ok()) {
    return invalid_argument("Shape of tensor input ", c.input(0), " is not compatible with expected shape ", wanted,
                            ": EnsureShape: the shape of the input, ", c.input(0),
                            ", is not compatible with the expected ", wanted);
  }
  c.set_output(0, *std::move(both));
  return ok_status();
}

Status empty_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  const PartialInts* const known = c.ints(0);
  for (std::size_t i = 0; known != nullptr && i < known->size(); ++i) {
    if ((*known)[i].value_or(0) < 0) return invalid_argument("Empty: shape[", i, "] is ", *(*known)[i]);
  }
  c.set_output(0, c.input_as_shape(0));
  return ok_status();
}

std::vector<Value> pass_gradient(GradContext& g) { return {g.dy()}; }

}  // namespace

void define_array_copies(OpRegistry& ops) {
  ops.add({.name = "EnsureShape",
           .doc = "The input, if it has the shape.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"shape: shape", "T: type"},
           .shape = ensure_shape_fn,
           .gradient = pass_gradient,
           .cost = free_cost,
           .forwards = true,
           .sharding_rule = ensure_shape_sharding});
  ops.add({.name = "DeepCopy",
           .doc = "A copy in memory of its own.",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: type"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .effect = Effect::kNothing,
           .sharding = "i.. -> i..; linear 0"});
  ops.add({.name = "GuaranteeConst",
           .doc = "The input, which the user says never changes.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kNothing,
           .forwards = true,
           .sharding = "i.. -> i..; linear 0"});
  ops.add({.name = "Empty",
           .doc = "A tensor of this shape whose elements nobody has set.",
           .inputs = {"shape: int32"},
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "init: bool = false"},
           .shape = empty_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .effect = Effect::kNothing,
           .blocks_gradient = true,
           .sharding = "whole: its values are nothing that a rule speaks of",
           .host_inputs = {0}});
}

}  // namespace argosy
