#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/batch_rule.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array.h"
#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

Result<std::vector<int>> format_permutation(std::string_view op, const std::string& src, const std::string& dst) {
  if (src.size() != dst.size() || (src.size() != 4 && src.size() != 5)) {
    return invalid_argument(op, ": source and destination format must both have 4 letters, or 5, not ", src, " and ",
                            dst);
  }
  std::vector<int> to;
  for (const char letter : src) {
    const std::size_t at = dst.find(letter);
    if (at == std::string::npos || std::find(to.begin(), to.end(), static_cast<int>(at)) != to.end()) {
      return invalid_argument(op, ": destination and source format must determine a permutation, got ", src, " and ",
                              dst);
    }
    to.push_back(static_cast<int>(at));
  }
  return to;
}

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
  // What whoever wrote the graph knew; where it contradicts the inputs, they count, as in TensorFlow.
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

Status format_shape(ShapeContext& c) {
  const auto permutation =
      format_permutation(c.op().name, c.attrs().get_string("src_format"), c.attrs().get_string("dst_format"));
  ARGOSY_RETURN_IF_ERROR(permutation.status());
  c.set_output(0, c.input(0));
  if (c.op().name == "DataFormatDimMap" || !c.input(0).has_rank()) return ok_status();
  const PartialShape& x = c.input(0);
  const auto all = static_cast<std::int64_t>(permutation->size());
  if (x.rank() < 1 || x.rank() > 2 || (x[0] >= 0 && x[0] != all && x[0] != all - 2) ||
      (x.rank() == 2 && x[1] >= 0 && x[1] != 2)) {
    return invalid_argument("DataFormatVecPermute: the input must have ", all, " or ", all - 2,
                            " elements, or pairs, not shape ", x);
  }
  return ok_status();
}

std::vector<Value> pass_gradient(GradContext& g) { return {g.dy()}; }
std::vector<Value> cross_gradient(GradContext& g) { return {cross(g.x(1), g.dy()), cross(g.dy(), g.x(0))}; }
std::vector<Value> accumulate_gradient(GradContext& g) {
  return std::vector<Value>(static_cast<std::size_t>(g.num_inputs()), g.dy());
}

}  // namespace

void define_array_copies_and_formats(OpRegistry& ops) {
  ops.add({.name = "EnsureShape",
           .doc = "The input, if it has the shape.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"shape: shape", "T: type"},
           .shape = ensure_shape_fn,
           .gradient = pass_gradient,
           .cost = free_cost,
           .forwards = true,
           .batch_rule = BatchRule::kPerExample});
  ops.add({.name = "DeepCopy",
           .doc = "A copy in memory of its own.",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: type"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .batch_rule = BatchRule::kPerExample});
  ops.add({.name = "GuaranteeConst",
           .doc = "The input, which the user says never changes.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .forwards = true,
           .batch_rule = BatchRule::kPerExample});
  ops.add({.name = "Empty",
           .doc = "A tensor of this shape whose elements nobody has set.",
           .inputs = {"shape: int32"},
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "init: bool = false"},
           .shape = empty_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .blocks_gradient = true,
           .host_inputs = {0}});
  ops.add({.name = "Cross",
           .doc = "Cross products along the last axis.",
           .inputs = {"a: T", "b: T"},
           .outputs = {"product: T"},
           .attrs = {"T: real"},
           .shape = cross_shape,
           .gradient = cross_gradient,
           .batch_rule = BatchRule::kNotLast});
  ops.add({.name = "AccumulateNV2",
           .doc = "The sum of all inputs.",
           .inputs = {"inputs: N * T"},
           .outputs = {"sum: T"},
           .attrs = {"N: int >= 1", "T: number", "shape: shape"},
           .shape = accumulate_shape,
           .gradient = accumulate_gradient,
           .commutative = true,
           .linear = Linear::kJointly,
           .batch_rule = BatchRule::kPerExample});
  ops.add({.name = "ParallelConcat",
           .doc = "Rows one below the other.",
           .inputs = {"values: N * T"},
           .outputs = {"output: T"},
           .attrs = {"N: int >= 1", "T: type", "shape: shape"},
           .shape = parallel_concat_shape,
           .gradient = kNotDifferentiable});
  for (const auto& [name, doc] : {std::pair{"DataFormatDimMap", "Axis numbers of one layout in another."},
                                  {"DataFormatVecPermute", "Numbers per axis of one layout in another's order."}}) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"x: T"},
             .outputs = {"y: T"},
             .attrs = {"T: index = int32", "src_format: string = 'NHWC'", "dst_format: string = 'NCHW'"},
             .shape = format_shape,
             .gradient = kNotDifferentiable,
             .blocks_gradient = true});
  }
}

}  // namespace argosy
