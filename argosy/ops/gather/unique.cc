#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/gather/gather_registration.h"

namespace argosy {

namespace {

Status unique_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 1));
  c.set_all_outputs(PartialShape::unknown_of_rank(1));
  c.set_output(1, x);
  return ok_status();
}

// y keeps x's rank; idx is as long as the axis, which is the only one when none is given.
Status unique_v2_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape axis, c.with_rank(1, 1));
  if (axis[0] > 1) return invalid_argument(c.op().name, ": axis must hold at most one number, not ", axis);
  const PartialShape& x = c.input(0);
  c.set_all_outputs(PartialShape::unknown_of_rank(1));
  c.set_output(0, PartialShape::unknown());
  if (axis[0] == 0) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape vector, c.with_rank(0, 1));
    c.set_output(0, PartialShape::unknown_of_rank(1));
    c.set_output(1, vector);
    return ok_status();
  }
  if (!x.has_rank()) return ok_status();
  const auto given = c.input_as_int(1);
  if (!given) {
    c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const int at, normalize_axis(*given, x.rank(), c.op().name));
  std::vector<std::int64_t> sizes = x.sizes();
  c.set_output(1, PartialShape({sizes[at]}));
  sizes[at] = PartialShape::kUnknown;
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status list_diff_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape y, c.with_rank(1, 1));
  c.set_all_outputs(PartialShape::unknown_of_rank(1));
  return ok_status();
}

}  // namespace

void define_uniques(OpRegistry& ops) {
  const auto unique_op = [&](const char* name, const char* doc, bool axis, bool counts) {
    std::vector<std::string> inputs = {"x: T"}, outputs = {"y: T", "idx: out_idx"}, attrs = {"T: type"};
    if (axis) {
      inputs.emplace_back("axis: Taxis");
      attrs.emplace_back("Taxis: index = int64");
    }
    if (counts) outputs.emplace_back("count: out_idx");
    attrs.emplace_back("out_idx: index = int32");
    ops.add({.name = name,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = std::move(outputs),
             .attrs = std::move(attrs),
             .shape = axis ? unique_v2_shape : unique_shape,
             .gradient = kNotDifferentiable});
  };
  unique_op("Unique", "Distinct elements in order of appearance, and each element's place among them.", false, false);
  unique_op("UniqueWithCounts", "Distinct elements, each element's place among them, and how often they appear.", false,
            true);
  unique_op("UniqueV2", "Distinct slices along an axis, and each slice's place among them.", true, false);
  unique_op("UniqueWithCountsV2",
            "Distinct slices along an axis, each slice's place among them, how often they appear.", true, true);
  ops.add({.name = "ListDiff",
           .doc = "Elements of x that are not in y, and their places in x.",
           .inputs = {"x: T", "y: T"},
           .outputs = {"out: T", "idx: out_idx"},
           .attrs = {"T: type", "out_idx: index = int32"},
           .shape = list_diff_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: it compares all elements with all others"});
}

Distinct unique(Value x, DType index_type) {
  if (!x.valid()) return {};
  const Value y = x.graph().add("Unique", {x}, {{"out_idx", index_type}});
  return {y, y.output(1), {}};
}
Distinct unique_with_counts(Value x, DType index_type) {
  if (!x.valid()) return {};
  const Value y = x.graph().add("UniqueWithCounts", {x}, {{"out_idx", index_type}});
  return {y, y.output(1), y.output(2)};
}
Distinct setdiff1d(Value x, Value y, DType index_type) {
  if (!x.valid()) return {};
  const Value out = x.graph().add("ListDiff", {x, y}, {{"out_idx", index_type}});
  return {out, out.output(1), {}};
}

}  // namespace argosy
