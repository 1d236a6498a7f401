#include "argosy/ops/counting/counting.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Columns of the result, by input `at`: known once that is, and not negative.
std::int64_t columns(const ShapeContext& c, int at) {
  const auto size = c.input_as_int(at);
  return size && *size >= 0 ? *size : kUnknownSize;
}

Status sparse_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  const PartialShape sizes = c.input_as_shape(2);
  if (!sizes.has_rank()) return ok_status();
  if (sizes.rank() < 1) return invalid_argument("SparseBincount: dense_shape needs one size at least");
  const std::int64_t size = columns(c, 3);
  c.set_output(0, sizes.rank() == 1 ? PartialShape{size} : PartialShape{sizes[0], size});
  return ok_status();
}

Status ragged_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape splits, c.with_rank(0, 1));
  c.set_output(0, PartialShape{splits[0] > 0 ? splits[0] - 1 : kUnknownSize, columns(c, 2)});
  return ok_status();
}

Status counts(ShapeContext& c, std::int64_t rank) {
  c.set_output(0, PartialShape{kUnknownSize, rank});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{rank});
  return ok_status();
}
Status dense_counts_shape(ShapeContext& c) {
  const PartialShape& values = c.input(0);
  if (values.has_rank() && values.rank() != 1 && values.rank() != 2)
    return invalid_argument("Input must be a 1 or 2-dimensional tensor. Got: ", values);
  return counts(c, values.has_rank() ? values.rank() : kUnknownSize);
}
Status sparse_counts_shape(ShapeContext& c) {
  const PartialShape& sizes = c.input(2);
  return counts(c, sizes.rank() != 1 || sizes[0] < 0 ? kUnknownSize : sizes[0] == 1 ? 1 : 2);
}
Status ragged_counts_shape(ShapeContext& c) { return counts(c, 2); }

}  // namespace

static void add_counting_ops(OpRegistry& ops) {
  const std::vector<std::string> dense_outputs = {"output: T"};
  const std::vector<std::string> dense_attrs = {"Tidx: index", "T: {int32, int64, float, double}",
                                                "binary_output: bool = false"};
  const std::vector<std::string> sparse_outputs = {"output_indices: int64", "output_values: output_type",
                                                   "output_dense_shape: int64"};
  const std::vector<std::string> sparse_attrs = {"T: index", "minlength: int >= -1 = -1", "maxlength: int >= -1 = -1",
                                                 "binary_output: bool", "output_type: {int32, int64, float, double}"};
  const std::vector<OpRow> rows = {
      {"SparseBincount",
       "DenseBincount of the values in each row of a sparse matrix.",
       {"indices: int64", "values: Tidx", "dense_shape: int64", "size: Tidx", "weights: T"},
       dense_outputs,
       dense_attrs,
       sparse_shape},
      {"RaggedBincount",
       "DenseBincount of the values in each row of a ragged matrix.",
       {"splits: int64", "values: Tidx", "size: Tidx", "weights: T"},
       dense_outputs,
       dense_attrs,
       ragged_shape},
      {"DenseCountSparseOutput",
       "Which values each row has and how often, as a sparse matrix.",
       {"values: T", "weights: output_type"},
       sparse_outputs,
       sparse_attrs,
       dense_counts_shape},
      {"SparseCountSparseOutput",
       "The same of the rows of a sparse matrix.",
       {"indices: int64", "values: T", "dense_shape: int64", "weights: output_type"},
       sparse_outputs,
       sparse_attrs,
       sparse_counts_shape},
      {"RaggedCountSparseOutput",
       "The same of the rows of a ragged matrix.",
       {"splits: int64", "values: T", "weights: output_type"},
       sparse_outputs,
       sparse_attrs,
       ragged_counts_shape},
  };
  add_rows(ops, rows, {.cpu_only = true, .blocks_gradient = true});
}

void define_counting(OpRegistry& ops) { with_sharding(ops, add_counting_ops, {}, "whole: it counts over all rows"); }

SparseCounts count_values(Value values, std::int64_t minlength, std::int64_t maxlength) {
  if (!values.valid()) return {};
  Graph& graph = values.graph();
  const Value first = graph.add("DenseCountSparseOutput", {values, constant(graph, Tensor::zeros(DType::kInt64, {0}))},
                                {{"minlength", minlength}, {"maxlength", maxlength}, {"binary_output", false}});
  return {first, first.output(1), first.output(2)};
}

}  // namespace argosy
