#include "argosy/ops/reduction/reduction_gradients.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy::reduction {

namespace {

using Gradients = std::vector<Value>;

// The axes folded by the node, if they are known before a step.
std::optional<AxisSet> known_axes(GradContext& g) {
  const PartialInts* known = g.graph().known_ints(g.x(1).endpoint());
  const int rank = g.x(0).shape().rank();
  if (known == nullptr || rank < 0) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (const auto& axis : *known) {
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  auto set = axis_set(axes, rank, "gradient");
  return set.ok() ? std::optional(*set) : std::nullopt;
}

Value ints(Graph& graph, const std::vector<std::int32_t>& values) { return constant(graph, Tensor::vector(values)); }

// x's shape with 1 for every folded axis, found by the step.
Value kept_shape(GradContext& g) {
  Graph& graph = g.graph();
  const Value shape = graph.add("Shape", {g.x(0)});
  const Value rank = graph.add("Size", {shape});
  const Value axes = cast(g.x(1), DType::kInt32);
  const Value normal = floor_mod(graph.add("Reshape", {axes, ints(graph, {-1})}) + rank, rank);
  const Value ones = graph.add("Fill", {graph.add("Shape", {normal}), constant(graph, 1)});
  const Value every = graph.add("Range", {constant(graph, 0), rank, constant(graph, 1)});
  return graph.add("DynamicStitch", {every, normal, shape, ones}, {{"N", 2}});
}

// A value of the reduction's output shape, with axes of size 1 where it was folded: ready to broadcast beside x.
Value with_kept_axes(GradContext& g, Value v) {
  if (g.attrs().get_bool("keep_dims")) return v;
  Graph& graph = g.graph();
  const auto axes = known_axes(g);
  const PartialShape& x = g.x(0).shape();
  if (!axes) return graph.add("Reshape", {v, kept_shape(g)});
  if (x.is_full()) {
    std::vector<std::int64_t> sizes;
    for (int i = 0; i < x.rank(); ++i) sizes.push_back((*axes)[i] ? 1 : x[i]);
    return graph.add("Reshape", {v, constant(graph, Tensor::vector(sizes))});
  }
  for (int i = 0; i < x.rank(); ++i) {
    if ((*axes)[i]) v = graph.add("ExpandDims", {v, constant(graph, i)});
  }
  return v;
}

Value shape_of(Value x) {
  Graph& graph = x.graph();
  if (!x.shape().is_full()) return graph.add("Shape", {x});
  return constant(graph, Tensor::vector<std::int64_t>(x.shape().sizes()));
}

Value spread(GradContext& g, Value v) { return g.graph().add("BroadcastTo", {with_kept_axes(g, v), shape_of(g.x(0))}); }

}  // namespace

Gradients sum_gradient(GradContext& g) { return {spread(g, g.dy()), Value()}; }

Gradients mean_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const std::int64_t in = g.x(0).shape().elements();
  const std::int64_t out = g.y().shape().elements();
  if (in >= 0 && out >= 0) {
    const double count = static_cast<double>(in) / static_cast<double>(std::max<std::int64_t>(out, 1));
    return {spread(g, g.dy() / constant_like(g.dy(), std::max(count, 1.0))), Value()};
  }
  const Value count = floor_div(graph.add("Size", {g.x(0)}), maximum(graph.add("Size", {g.y()}), 1));
  return {spread(g, g.dy() / cast(maximum(count, 1), g.dy().dtype())), Value()};
}

Gradients extreme_gradient(GradContext& g) {
  const Value chosen = cast(equal(with_kept_axes(g, g.y()), g.x(0)), g.dy().dtype());
  const Value how_many = g.graph().add("Sum", {chosen, g.x(1)}, {{"keep_dims", true}});
  return {chosen / how_many * with_kept_axes(g, g.dy()), Value()};
}

Gradients euclidean_norm_gradient(GradContext& g) {
  const Value y = with_kept_axes(g, g.y());
  return {div_no_nan(g.x(0), y) * with_kept_axes(g, g.dy()), Value()};
}

Gradients l2_loss_gradient(GradContext& g) { return {g.x(0) * g.dy()}; }

namespace {

// The folded axes brought to the front, and made one: what Prod's gradient needs of shapes.
struct Front {
  Value order, back;   // permutations there and back
  Value flat, unflat;  // shapes [folded, kept] and that of the permuted input
};

Front known_front(Graph& graph, const PartialShape& x, const AxisSet& axes) {
  std::vector<std::int64_t> order, back(static_cast<std::size_t>(x.rank())), flat = {1, 1}, unflat;
  for (const bool folded : {true, false}) {
    for (int i = 0; i < x.rank(); ++i) {
      if (axes[i] != folded) continue;
      back[i] = static_cast<std::int64_t>(order.size());
      order.push_back(i);
      unflat.push_back(x[i]);
      flat[folded ? 0 : 1] *= x[i];
    }
  }
  const auto list = [&](const std::vector<std::int64_t>& v) { return constant(graph, Tensor::vector(v)); };
  return {list(order), list(back), list(flat), list(unflat)};
}

// The same, found by the step.
Front open_front(GradContext& g) {
  Graph& graph = g.graph();
  const Value shape = graph.add("Shape", {g.x(0)});
  const Value rank = graph.add("Size", {shape});
  const Value zero = constant(graph, 0);
  const Value every = graph.add("Range", {zero, rank, constant(graph, 1)});
  const Value folded = floor_mod(graph.add("Reshape", {cast(g.x(1), DType::kInt32), ints(graph, {-1})}) + rank, rank);
  const Value kept = graph.add("ListDiff", {every, folded});
  const Value order = graph.add("ConcatV2", {folded, kept, zero});
  const auto sizes_of = [&](Value axes) { return graph.add("GatherV2", {shape, axes, zero}); };
  const auto number_of = [&](Value axes) { return graph.add("Prod", {sizes_of(axes), zero}); };
  return {order, graph.add("InvertPermutation", {order}), graph.add("Pack", {number_of(folded), number_of(kept)}),
          sizes_of(order)};
}

}  // namespace

// The product of all others, right also where some are zero: the product of those before times that of those after.
Gradients prod_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value x = g.x(0);
  const auto axes = known_axes(g);
  const Front f = axes && x.shape().is_full() ? known_front(graph, x.shape(), *axes) : open_front(g);
  const Value flat = graph.add("Reshape", {graph.add("Transpose", {x, f.order}), f.flat});
  const Value zero = constant(graph, 0);
  const Value before = graph.add("Cumprod", {flat, zero}, {{"exclusive", true}});
  const Value after = graph.add("Cumprod", {flat, zero}, {{"exclusive", true}, {"reverse", true}});
  const Value others = graph.add("Reshape", {conj(before) * conj(after), f.unflat});
  return {with_kept_axes(g, g.dy()) * graph.add("Transpose", {others, f.back}), Value()};
}

}  // namespace argosy::reduction
