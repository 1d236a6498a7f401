#include "argosy/ops/segment/segment_gradients.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/select/select.h"

namespace argosy::segment {

namespace {

using Gradients = std::vector<Value>;

// Both kinds of op under one view: rows read from segments, and rows folded into segments again.
class Segments {
 public:
  explicit Segments(GradContext& g) : g_(g), unsorted_(g.num_inputs() == 3) {
    if (!unsorted_) return;
    // Negative ids belong to no segment: they read row 0, and what they read is put aside.
    Value ids = g.x(1);
    if (ids.dtype() == DType::kInt16) ids = cast(ids, DType::kInt32);
    safe_ids_ = maximum(ids, 0);
    Value inside = greater_equal(ids, 0);
    const int more = g.x(0).shape().rank() - ids.shape().rank();
    if (g.x(0).shape().has_rank() && ids.shape().has_rank()) {
      for (int i = 0; i < more; ++i) inside = g.graph().add("ExpandDims", {inside, constant(g.graph(), -1)});
    } else {
      // As many axes of size 1 as data has more than the ids, found by the step.
      Graph& graph = g.graph();
      const Value missing = graph.add("Sub", {graph.add("Rank", {g.x(0)}), graph.add("Rank", {ids})});
      const Value ones =
          graph.add("Fill", {graph.add("ExpandDims", {missing, constant(graph, 0)}), constant(graph, 1)});
      const Value shape = graph.add("ConcatV2", {graph.add("Shape", {ids}), ones, constant(graph, 0)});
      inside = graph.add("Reshape", {inside, shape});
    }
    inside_ = inside;
  }

  // Row i: that of row i's segment; `outside` where it has none.
  Value rows_of(Value segments, double outside = 0) const {
    const Value rows = g_.graph().add("GatherV2", {segments, unsorted_ ? safe_ids_ : g_.x(1), constant(g_.graph(), 0)});
    return unsorted_ ? where(inside_, rows, outside) : rows;
  }
  // `rows`, folded as the op's name says.
  Value fold(const char* sorted, const char* unsorted, Value rows) const {
    if (!unsorted_) return g_.graph().add(sorted, {rows, g_.x(1)});
    return g_.graph().add(unsorted, {rows, g_.x(1), g_.x(2)});
  }
  Value sums(Value rows) const { return fold("SegmentSum", "UnsortedSegmentSum", rows); }
  Value products(Value rows) const { return fold("SegmentProd", "UnsortedSegmentProd", rows); }

  Gradients result(Value dx) const {
    Gradients dxs(static_cast<std::size_t>(g_.num_inputs()));
    dxs[0] = dx;
    return dxs;
  }

 private:
  GradContext& g_;
  const bool unsorted_;
  Value safe_ids_, inside_;
};

Gradients any_sum(GradContext& g) {
  const Segments segments(g);
  return segments.result(segments.rows_of(g.dy()));
}

Gradients any_extreme(GradContext& g) {
  const Segments segments(g);
  const Value chosen = equal(g.x(0), segments.rows_of(g.y()));
  const Value how_many = segments.sums(cast(chosen, g.dy().dtype()));
  const Value share = segments.rows_of(div_no_nan(g.dy(), how_many));
  return segments.result(where(chosen, share, 0));
}

// dy times the product of the other rows of the segment: y / x where x is not zero; where x is the segment's only zero,
// the product of the rest; 0 beside another zero.
Gradients any_prod(GradContext& g) {
  const Segments segments(g);
  const Value x = g.x(0);
  const Value is_zero = equal(x, 0);
  const Value zeros = segments.sums(cast(is_zero, DType::kInt32));
  const Value dy = where(greater(zeros, 1), 0, g.dy());
  const Value rest = segments.rows_of(segments.products(where(is_zero, 1, x)));
  const Value others = where(is_zero, rest, segments.rows_of(g.y()) / where(is_zero, 1, x));
  return segments.result(segments.rows_of(dy) * conj(others));
}

}  // namespace

Gradients sum_gradient(GradContext& g) { return any_sum(g); }
Gradients unsorted_sum_gradient(GradContext& g) { return any_sum(g); }
Gradients prod_gradient(GradContext& g) { return any_prod(g); }
Gradients unsorted_prod_gradient(GradContext& g) { return any_prod(g); }
Gradients extreme_gradient(GradContext& g) { return any_extreme(g); }

Gradients mean_gradient(GradContext& g) {
  const Segments segments(g);
  const Value how_many = maximum(segments.sums(ones_like(cast(g.x(0), DType::kFloat32))), 1.0);
  return segments.result(segments.rows_of(g.dy() / cast(how_many, g.dy().dtype())));
}

}  // namespace argosy::segment
