#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array.h"
#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

Status bounds_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape sorted, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape values, c.with_rank(1, 2));
  if (sorted[0] >= 0 && values[0] >= 0 && sorted[0] != values[0]) {
    return invalid_argument(c.op().name, ": leading dim_size of both tensors must match: ", sorted, " and ", values);
  }
  c.set_output(0, values);
  return ok_status();
}

Status unravel_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape dims, c.with_rank(1, 1));
  const PartialShape& indices = c.input(0);
  if (!indices.has_rank()) return ok_status();
  if (indices.rank() > 1) {
    return invalid_argument("UnravelIndex: the indices can only be scalar or vector, got ", indices);
  }
  c.set_output(0, indices.rank() == 0 ? PartialShape({dims[0]}) : PartialShape({dims[0], indices[0]}));
  return ok_status();
}

Status histogram_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape range, c.with_rank(1, 1));
  if (!range.compatible({2}))
    return invalid_argument("HistogramFixedWidth: value_range must hold 2 numbers, not ", range);
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  const auto bins = c.input_as_int(2);
  if (bins && *bins <= 0)
    return invalid_argument("HistogramFixedWidth: nbins should be a positive number, not ", *bins);
  c.set_output(0, {bins.value_or(PartialShape::kUnknown)});
  return ok_status();
}

Status nth_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const auto n = c.input_as_int(1);
  if (n && *n < 0) return invalid_argument("NthElement: n must be non-negative but is ", *n);
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument("NthElement: the input must have rank 1 or more");
  if (n && x[x.rank() - 1] >= 0 && x[x.rank() - 1] <= *n) {
    return invalid_argument("NthElement: the input must have a last dimension > n = ", *n, ", not shape ", x);
  }
  c.set_output(0, PartialShape(std::vector<std::int64_t>(x.sizes().begin(), x.sizes().end() - 1)));
  return ok_status();
}

// The gradient goes to all elements equal to the result, in equal parts.
std::vector<Value> nth_gradient(GradContext& g) {
  const auto expand = [&](Value v) { return g.graph().add("ExpandDims", {v, constant(g.graph(), -1)}); };
  const Value found = cast(equal(expand(g.y()), g.x(0)), g.dy().dtype());
  const Value how_many = expand(g.graph().add("Sum", {found, constant(g.graph(), -1)}));
  return {found / how_many * expand(g.dy()), Value()};
}

}  // namespace

void define_array_searches(OpRegistry& ops) {
  for (const auto& [name, doc] : {std::pair{"LowerBound", "Where values could be inserted first, in sorted rows."},
                                  {"UpperBound", "Where values could be inserted last, in sorted rows."}}) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"sorted_inputs: T", "values: T"},
             .outputs = {"output: out_type"},
             .attrs = {"T: type", "out_type: index = int32"},
             .shape = bounds_shape,
             .gradient = kNotDifferentiable,
             .blocks_gradient = true});
  }
  ops.add({.name = "IsotonicRegression",
           .doc = "The nearest rows that never rise, and which of their elements have one value.",
           .inputs = {"input: T"},
           .outputs = {"output: output_dtype", "segments: int32"},
           .attrs = {"T: real", "output_dtype: floating = float"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "whole: each row is one sequence"});
  ops.add({.name = "UnravelIndex",
           .doc = "Flat indices as coordinates in an array of sizes dims.",
           .inputs = {"indices: Tidx", "dims: Tidx"},
           .outputs = {"output: Tidx"},
           .attrs = {"Tidx: index = int32"},
           .shape = unravel_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i, . -> 1 i"});
  ops.add({.name = "HistogramFixedWidth",
           .doc = "How many values fall into intervals of equal width.",
           .inputs = {"values: T", "value_range: T", "nbins: int32"},
           .outputs = {"out: dtype"},
           .attrs = {"T: {int32, int64, float, double}", "dtype: index = int32"},
           .shape = histogram_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "i.., ., . -> 1; sum i..",
           .host_inputs = {1, 2}});
  ops.add({.name = "NthElement",
           .doc = "The n-th smallest element along the last axis.",
           .inputs = {"input: T", "n: int32"},
           .outputs = {"values: T"},
           .attrs = {"reverse: bool = false", "T: real"},
           .shape = nth_shape,
           .gradient = nth_gradient,
           .cpu_only = true,
           .sharding = "i.. c, . -> i..; whole c",
           .host_inputs = {1}});
}

}  // namespace argosy
