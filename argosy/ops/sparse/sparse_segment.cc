// Definitions: rows that indices choose, by segment.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/batch_rule.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

Status indices_and_ids(const ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape ids, c.with_rank(2, 1));
  return indices.merge(ids).status();
}

Status rows(ShapeContext& c, std::int64_t count) {
  const PartialShape& data = c.input(0);
  if (data.rank() == 0) return invalid_argument(c.op().name, ": a scalar has no rows");
  if (!data.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = data.sizes();
  sizes[0] = count;
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status segment_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(indices_and_ids(c));
  std::int64_t count = kUnknownSize;
  if (c.num_inputs() > 3) {
    ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
    const auto known = c.input_as_int(3);
    if (known && *known < 0) return invalid_argument(c.op().name, ": num_segments cannot be negative: ", *known);
    count = known.value_or(kUnknownSize);
  }
  return rows(c, count);
}

Status segment_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(indices_and_ids(c));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  const auto known = c.input_as_int(3);
  return rows(c, known && *known >= 0 ? *known : kUnknownSize);
}

Status segment_grad_v2_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(indices_and_ids(c));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  c.set_output(1, PartialShape{kUnknownSize});
  return rows(c, kUnknownSize);
}

std::vector<Value> segment_gradient(GradContext& g) {
  std::string op = g.node().op->name;
  if (const std::size_t at = op.find("WithNumSegments"); at != std::string::npos) op.resize(at);
  const Value count = squeeze(slice(shape(g.x(0)), {0}, {1}), {0});
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx[0] = g.graph().add(op + "Grad", {g.dy(), g.x(1), g.x(2), count});
  return dx;
}

}  // namespace

void define_segment(OpRegistry& ops) {
  ops.add({.name = "SparseSegmentSum",
           .doc = "Sums of chosen rows by ascending segment.",
           .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids"},
           .outputs = {"output: T"},
           .attrs = {"T: real", "Tidx: index = int32", "Tsegmentids: index = int32", "sparse_gradient: bool = false"},
           .shape = segment_shape,
           .gradient = segment_gradient,
           .batch_rule = BatchRule::kGather});
  ops.add(
      {.name = "SparseSegmentMean",
       .doc = "Means of chosen rows by ascending segment.",
       .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids"},
       .outputs = {"output: T"},
       .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32", "sparse_gradient: bool = false"},
       .shape = segment_shape,
       .gradient = segment_gradient,
       .batch_rule = BatchRule::kGather});
  ops.add(
      {.name = "SparseSegmentSqrtN",
       .doc = "Sums of chosen rows by ascending segment, over the root of how many they are.",
       .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids"},
       .outputs = {"output: T"},
       .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32", "sparse_gradient: bool = false"},
       .shape = segment_shape,
       .gradient = segment_gradient,
       .batch_rule = BatchRule::kGather});
  ops.add({.name = "SparseSegmentSumWithNumSegments",
           .doc = "Sums of chosen rows by ascending segment, of so many.",
           .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids", "num_segments: Tnumsegments"},
           .outputs = {"output: T"},
           .attrs = {"T: real", "Tidx: index = int32", "Tnumsegments: index = int32", "Tsegmentids: index = int32",
                     "sparse_gradient: bool = false"},
           .shape = segment_shape,
           .gradient = segment_gradient,
           .batch_rule = BatchRule::kGather,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentMeanWithNumSegments",
           .doc = "Means of chosen rows by ascending segment, of so many.",
           .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids", "num_segments: Tnumsegments"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tnumsegments: index = int32", "Tsegmentids: index = int32",
                     "sparse_gradient: bool = false"},
           .shape = segment_shape,
           .gradient = segment_gradient,
           .batch_rule = BatchRule::kGather,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentSqrtNWithNumSegments",
           .doc = "Sums of chosen rows by ascending segment, over the root of how many they are, of so many.",
           .inputs = {"data: T", "indices: Tidx", "segment_ids: Tsegmentids", "num_segments: Tnumsegments"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tnumsegments: index = int32", "Tsegmentids: index = int32",
                     "sparse_gradient: bool = false"},
           .shape = segment_shape,
           .gradient = segment_gradient,
           .batch_rule = BatchRule::kGather,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentSumGrad",
           .doc = "What flows back through SparseSegmentSum.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatterAdd,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentMeanGrad",
           .doc = "What flows back through SparseSegmentMean.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatterAdd,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentSqrtNGrad",
           .doc = "What flows back through SparseSegmentSqrtN.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatterAdd,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentSumGradV2",
           .doc = "What flows back through SparseSegmentSum, for rows that were chosen.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "dense_output_dim0: int32"},
           .outputs = {"output: T", "sorted_unique_indices: Tidx"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_v2_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatter,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentMeanGradV2",
           .doc = "What flows back through SparseSegmentMean, for rows that were chosen.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "dense_output_dim0: int32"},
           .outputs = {"output: T", "sorted_unique_indices: Tidx"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_v2_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatter,
           .host_inputs = {3}});
  ops.add({.name = "SparseSegmentSqrtNGradV2",
           .doc = "What flows back through SparseSegmentSqrtN, for rows that were chosen.",
           .inputs = {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "dense_output_dim0: int32"},
           .outputs = {"output: T", "sorted_unique_indices: Tidx"},
           .attrs = {"T: floating", "Tidx: index = int32", "Tsegmentids: index = int32"},
           .shape = segment_grad_v2_shape,
           .gradient = kNotDifferentiable,
           .batch_rule = BatchRule::kScatter,
           .host_inputs = {3}});
}

}  // namespace argosy::sparse
