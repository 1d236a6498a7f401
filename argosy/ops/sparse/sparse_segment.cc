// Definitions: rows that indices choose, by segment.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

Status indices_and_ids(const ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape ids, c.with_rank(2, 1));
  if (indices.compatible(ids)) return ok_status();
  return invalid_argument("segment_ids and indices should have same size.: they have shapes ", ids, " and ", indices);
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
  const std::string index = "Tidx: index = int32", id = "Tsegmentids: index = int32";
  const std::string segments = "Tnumsegments: index = int32", sparse = "sparse_gradient: bool = false";
  struct Reduction {
    std::string name, result, types;
  };
  const Reduction sum{"SparseSegmentSum", "Sums of chosen rows by ascending segment", "T: real"};
  const Reduction mean{"SparseSegmentMean", "Means of chosen rows by ascending segment", "T: floating"};
  const Reduction sqrt_n{"SparseSegmentSqrtN",
                         "Sums of chosen rows by ascending segment, over the root of how many they are", "T: floating"};
  const OpFacts gathers = {.shape = segment_shape, .gradient = segment_gradient};
  for (const Reduction& r : {sum, mean, sqrt_n}) {
    add_row(ops,
            {r.name,
             r.result + ".",
             {"data: T", "indices: Tidx", "segment_ids: Tsegmentids"},
             {"output: T"},
             {r.types, index, id, sparse}},
            gathers);
  }
  for (const Reduction& r : {sum, mean, sqrt_n}) {
    add_row(ops,
            {r.name + "WithNumSegments",
             r.result + ", of so many.",
             {"data: T", "indices: Tidx", "segment_ids: Tsegmentids", "num_segments: Tnumsegments"},
             {"output: T"},
             {r.types, index, segments, id, sparse},
             nullptr,
             {.host_inputs = {3}}},
            gathers);
  }
  const std::vector<std::string> types = {"T: floating", index, id};
  for (const Reduction& r : {sum, mean, sqrt_n}) {
    add_row(ops, {r.name + "Grad",
                  "What flows back through " + r.name + ".",
                  {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"},
                  {"output: T"},
                  types,
                  segment_grad_shape,
                  {.host_inputs = {3}}});
  }
  for (const Reduction& r : {sum, mean, sqrt_n}) {
    add_row(ops, {r.name + "GradV2",
                  "What flows back through " + r.name + ", for rows that were chosen.",
                  {"grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "dense_output_dim0: int32"},
                  {"output: T", "sorted_unique_indices: Tidx"},
                  types,
                  segment_grad_v2_shape,
                  {.host_inputs = {3}}});
  }
}

}  // namespace argosy::sparse
