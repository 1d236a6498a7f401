#include "argosy/ops/sets/sets.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Inputs first, first + 1, first + 2: indices, values and shape of a sparse tensor. Its rank, if known.
Result<int> sparse_rank(const ShapeContext& c, int first) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(first, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape values, c.with_rank(first + 1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, c.with_rank(first + 2, 1));
  const bool counts = indices[0] < 0 || values[0] < 0 || indices[0] == values[0];
  const bool ranks = indices[1] < 0 || shape[0] < 0 || indices[1] == shape[0];
  if (!counts || !ranks) {
    return invalid_argument(c.op().name, ": indices ", indices, ", values ", values, " and shape ", shape,
                            " are not those of a sparse tensor");
  }
  return static_cast<int>(indices[1] >= 0 ? indices[1] : shape[0]);
}

Status operation_shape(ShapeContext& c) {
  const std::string& operation = c.attrs().get_string("set_operation");
  bool known = false;
  for (const char* name : {"a-b", "b-a", "intersection", "union"}) known = known || operation == name;
  if (!known) {
    return invalid_argument(c.op().name, ": Invalid set_operation ", operation,
                            ": it is none of a-b, b-a, intersection, union");
  }
  std::int64_t rank = kUnknownSize;
  const auto take = [&](int one) -> Status {
    if (one < 0) return ok_status();
    if (one < 2) return invalid_argument(c.op().name, ": sets must have rank 2 or more, not ", one);
    if (rank >= 0 && rank != one) return invalid_argument(c.op().name, ": ranks ", rank, " and ", one, " differ");
    rank = one;
    return ok_status();
  };
  for (int i = 0; i < c.num_inputs();) {
    const bool sparse = c.op().input_args[static_cast<std::size_t>(i)].name.ends_with("_indices");
    int one = c.input(i).rank();
    if (sparse) {
      ARGOSY_ASSIGN_OR_RETURN(one, sparse_rank(c, i));
    }
    ARGOSY_RETURN_IF_ERROR(take(one));
    i += sparse ? 3 : 1;
  }
  c.set_output(0, {kUnknownSize, rank});
  c.set_output(1, {kUnknownSize});
  c.set_output(2, {rank});
  return ok_status();
}

Status size_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const int rank, sparse_rank(c, 0));
  if (rank >= 0 && rank < 2) return invalid_argument("SetSize: sets must have rank 2 or more, not ", rank);
  if (rank >= 0) c.set_output(0, PartialShape::unknown_of_rank(rank - 1));
  return ok_status();
}

}  // namespace

static void add_sets_ops(OpRegistry& ops) {
  const std::string types = "T: {int8, int16, int32, int64, uint8, uint16, string}";
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> inputs) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = {"result_indices: int64", "result_values: T", "result_shape: int64"},
             .attrs = {"set_operation: string", "validate_indices: bool = true", types},
             .shape = operation_shape,
             .gradient = kNotDifferentiable,
             .cpu_only = true,
             .blocks_gradient = true});
  };
  add("DenseToDenseSetOperation", "Set operations on rows.", {"set1: T", "set2: T"});
  add("DenseToSparseSetOperation", "Set operations on rows and sparse sets.",
      {"set1: T", "set2_indices: int64", "set2_values: T", "set2_shape: int64"});
  add("SparseToSparseSetOperation", "Set operations on sparse sets.",
      {"set1_indices: int64", "set1_values: T", "set1_shape: int64", "set2_indices: int64", "set2_values: T",
       "set2_shape: int64"});
  ops.add({.name = "SetSize",
           .doc = "How many distinct values sparse sets have.",
           .inputs = {"set_indices: int64", "set_values: T", "set_shape: int64"},
           .outputs = {"size: int32"},
           .attrs = {"validate_indices: bool = true", types},
           .shape = size_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
}

void define_sets(OpRegistry& ops) {
  with_sharding(ops, add_sets_ops, {}, "whole: entries of a set are numbered over all rows");
}

namespace {
SparseSets results(Value first) { return {first, first.output(1), first.output(2)}; }
}  // namespace

SparseSets set_operation(Value a, Value b, const std::string& operation) {
  return a.valid() ? results(a.graph().add("DenseToDenseSetOperation", {a, b}, {{"set_operation", operation}}))
                   : SparseSets{};
}
SparseSets set_operation(const SparseSets& a, const SparseSets& b, const std::string& operation) {
  if (!a.values.valid()) return {};
  return results(a.values.graph().add("SparseToSparseSetOperation",
                                      {a.indices, a.values, a.shape, b.indices, b.values, b.shape},
                                      {{"set_operation", operation}}));
}
Value set_size(const SparseSets& sets) {
  if (!sets.values.valid()) return {};
  return sets.values.graph().add("SetSize", {sets.indices, sets.values, sets.shape});
}

}  // namespace argosy
