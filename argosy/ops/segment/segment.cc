#include "argosy/ops/segment/segment.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/segment/segment_gradients.h"
#include "argosy/ops/segment/segment_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status segment_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape ids, c.with_rank(1, 1));
  const PartialShape& data = c.input(0);
  if (!data.has_rank()) return ok_status();
  if (data.rank() == 0) return invalid_argument(c.op().name, ": data has no rows");
  if (data[0] >= 0 && ids[0] >= 0 && data[0] != ids[0]) {
    return invalid_argument("segment_ids should be the same size as dimension 0 of input: ", c.op().name, ": ", ids[0],
                            " segment ids for ", data[0], " rows of data");
  }
  std::vector<std::int64_t> sizes = data.sizes();
  sizes[0] = PartialShape::kUnknown;
  if (const PartialInts* known = c.ints(1); known != nullptr && !known->empty() && known->back()) {
    if (*known->back() >= 0 && *known->back() < INT64_MAX) sizes[0] = *known->back() + 1;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status unsorted_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  const PartialShape& data = c.input(0);
  const PartialShape& ids = c.input(1);
  if (!data.has_rank() || !ids.has_rank()) return ok_status();
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] < 0 || data[i] < 0 || ids[i] == data[i];
  if (!fits) {
    return invalid_argument(c.op().name, ": the shape of data, ", data, ", must start with that of segment_ids, ", ids);
  }
  const auto segments = c.input_as_int(2);
  std::vector<std::int64_t> sizes = {segments && *segments >= 0 ? *segments : PartialShape::kUnknown};
  sizes.insert(sizes.end(), data.sizes().begin() + ids.rank(), data.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status bincount_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const auto size = c.input_as_int(1);
  c.set_output(0, PartialShape{size && *size >= 0 ? *size : PartialShape::kUnknown});
  return ok_status();
}

Status dense_bincount_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return ok_status();
  if (input.rank() > 2)
    return invalid_argument("DenseBincount: input must be a vector or a matrix, not of shape ", input);
  const auto size = c.input_as_int(1);
  std::vector<std::int64_t> sizes;
  if (input.rank() == 2) sizes.push_back(input[0]);
  sizes.push_back(size && *size >= 0 ? *size : PartialShape::kUnknown);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

struct SegmentRow {
  const char* name;
  const char* doc;
  const char* types;
  GradientFn gradient;
};

}  // namespace

static void add_segment_ops(OpRegistry& ops) {
  for (const SegmentRow& row :
       {SegmentRow{"SegmentSum", "Sums of rows by ascending segment.", "T: number", segment::sum_gradient},
        {"SegmentMean", "Means of rows by ascending segment.", "T: number", segment::mean_gradient},
        {"SegmentProd", "Products of rows by ascending segment.", "T: number", segment::prod_gradient},
        {"SegmentMax", "Largest of rows by ascending segment.", "T: real", segment::extreme_gradient},
        {"SegmentMin", "Smallest of rows by ascending segment.", "T: real", segment::extreme_gradient}}) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"data: T", "segment_ids: Tindices"},
             .outputs = {"output: T"},
             .attrs = {row.types, "Tindices: index"},
             .shape = segment_shape,
             .gradient = row.gradient});
  }
  for (const SegmentRow& row :
       {SegmentRow{"UnsortedSegmentSum", "Sums of rows by segment.", "T: number", segment::unsorted_sum_gradient},
        {"UnsortedSegmentProd", "Products of rows by segment.", "T: number", segment::unsorted_prod_gradient},
        {"UnsortedSegmentMax", "Largest of rows by segment.", "T: real", segment::extreme_gradient},
        {"UnsortedSegmentMin", "Smallest of rows by segment.", "T: real", segment::extreme_gradient}}) {
    const bool sum = row.gradient == segment::unsorted_sum_gradient;
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"},
             .outputs = {"output: T"},
             .attrs = {row.types, sum ? "Tindices: {int16, int32, int64}" : "Tindices: index",
                       "Tnumsegments: index = int32"},
             .shape = unsorted_shape,
             .gradient = row.gradient,
             .host_inputs = {2}});
  }
  ops.add({.name = "Bincount",
           .doc = "How often each of 0 … size-1 occurs, or the sum of its weights.",
           .inputs = {"arr: int32", "size: int32", "weights: T"},
           .outputs = {"bins: T"},
           .attrs = {"T: {int32, int64, float, double}"},
           .shape = bincount_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding_rule = bincount_sharding,
           .host_inputs = {1}});
  ops.add({.name = "DenseBincount",
           .doc = "Bincount of a vector, or of each row of a matrix; binary_output: whether each occurs.",
           .inputs = {"input: Tidx", "size: Tidx", "weights: T"},
           .outputs = {"output: T"},
           .attrs = {"Tidx: index", "T: {int32, int64, float, double}", "binary_output: bool = false"},
           .shape = dense_bincount_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding_rule = bincount_sharding,
           .host_inputs = {1}});
}

void define_segment(OpRegistry& ops) {
  with_sharding(ops, add_segment_ops,
                {{"SegmentSum", "n d.., n -> 1 d..; whole n; linear 0"},
                 {"SegmentMean", "n d.., n -> 1 d..; whole n"},
                 {"SegmentProd", "n d.., n -> 1 d..; whole n"},
                 {"SegmentMax", "n d.., n -> 1 d..; whole n"},
                 {"SegmentMin", "n d.., n -> 1 d..; whole n"},
                 {"UnsortedSegmentSum", "n.. d.., n.., . -> 1 d..; sum n..; linear 0"},
                 {"UnsortedSegmentProd", "n.. d.., n.., . -> 1 d..; whole n.."},
                 {"UnsortedSegmentMax", "n.. d.., n.., . -> 1 d..; max n.."},
                 {"UnsortedSegmentMin", "n.. d.., n.., . -> 1 d..; min n.."}});
}

namespace {
Value add(const char* op, Value data, std::vector<Value> more) {
  more.insert(more.begin(), data);
  return data.valid() ? data.graph().add(op, std::move(more)) : data;
}
}  // namespace

Value segment_sum(Value data, Value ids) { return add("SegmentSum", data, {ids}); }
Value segment_mean(Value data, Value ids) { return add("SegmentMean", data, {ids}); }
Value segment_max(Value data, Value ids) { return add("SegmentMax", data, {ids}); }
Value segment_min(Value data, Value ids) { return add("SegmentMin", data, {ids}); }
Value segment_prod(Value data, Value ids) { return add("SegmentProd", data, {ids}); }
Value unsorted_segment_sum(Value data, Value ids, Value n) { return add("UnsortedSegmentSum", data, {ids, n}); }
Value unsorted_segment_max(Value data, Value ids, Value n) { return add("UnsortedSegmentMax", data, {ids, n}); }
Value unsorted_segment_min(Value data, Value ids, Value n) { return add("UnsortedSegmentMin", data, {ids, n}); }
Value unsorted_segment_prod(Value data, Value ids, Value n) { return add("UnsortedSegmentProd", data, {ids, n}); }
Value bincount(Value values, Value size, Value weights) { return add("Bincount", values, {size, weights}); }

}  // namespace argosy
