// Ops that make one tensor of several: cross products, sums, rows one below the other.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array.h"
#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

Status cross_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape both, c.input(0).merge(c.input(1)));
  if (both.has_rank() && both.rank() == 0) return invalid_argument("Cross: inputs must have rank 1 or more");
  if (both.has_rank() && both[both.rank() - 1] >= 0 && both[both.rank() - 1] != 3) {
    return failed_precondition("Cross-products are only defined for 3-element vectors, not for shape ", both);
  }
  c.set_output(0, std::move(both));
  return ok_status();
}

Status accumulate_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(merged_inputs(c));
  // The attribute `shape` is what the author of the graph knew. If it contradicts the inputs, they decide, as in
  // TensorFlow.
  if (auto both = c.output(0).merge(c.attrs().get<PartialShape>("shape")); both.ok()) c.set_output(0, *std::move(both));
  return ok_status();
}

Status parallel_concat_shape(ShapeContext& c) {
  const auto& wanted = c.attrs().get<PartialShape>("shape");
  if (!wanted.is_full()) return invalid_argument("ParallelConcat: shape must be fully known, not ", wanted);
  if (wanted.rank() < 1 || wanted[0] != c.num_inputs()) {
    return invalid_argument("ParallelConcat: ", c.num_inputs(), " inputs of one row each do not have the shape ",
                            wanted);
  }
  std::vector<std::int64_t> row = wanted.sizes();
  row[0] = 1;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).compatible(PartialShape(row))) {
      return invalid_argument("ParallelConcat: input ", i, " has shape ", c.input(i), ", not ", PartialShape(row));
    }
  }
  c.set_output(0, wanted);
  return ok_status();
}

std::vector<Value> cross_gradient(GradContext& g) { return {cross(g.x(1), g.dy()), cross(g.dy(), g.x(0))}; }
std::vector<Value> accumulate_gradient(GradContext& g) {
  return std::vector<Value>(static_cast<std::size_t>(g.num_inputs()), g.dy());
}

}  // namespace

void define_array_combinations(OpRegistry& ops) {
  ops.add({.name = "Cross",
           .doc = "Cross products along the last axis.",
           .inputs = {"a: T", "b: T"},
           .outputs = {"product: T"},
           .attrs = {"T: real"},
           .shape = cross_shape,
           .gradient = cross_gradient,
           .sharding = "i.. c, i.. c -> i.. c; whole c; linear 0 | 1"});
  ops.add({.name = "AccumulateNV2",
           .doc = "The sum of all inputs.",
           .inputs = {"inputs: N * T"},
           .outputs = {"sum: T"},
           .attrs = {"N: int >= 1", "T: number", "shape: shape"},
           .shape = accumulate_shape,
           .gradient = accumulate_gradient,
           .commutative = true,
           .linear = Linear::kJointly,
           .sharding = "i.. * -> i..; linear 0"});
  ops.add({.name = "ParallelConcat",
           .doc = "Rows one below the other.",
           .inputs = {"values: N * T"},
           .outputs = {"output: T"},
           .attrs = {"N: int >= 1", "T: type", "shape: shape"},
           .shape = parallel_concat_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: an attribute says how large its output is"});
}

}  // namespace argosy
