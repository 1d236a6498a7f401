// Gradients of broadcasting: they are summed over the axes along which an operand was repeated.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

// Returns the axes of the output along which `x` was repeated to match `y`; nullopt if their shapes do not determine
// them.
std::optional<std::vector<std::int32_t>> repeated_axes(const PartialShape& x, const PartialShape& y) {
  if (!x.has_rank() || !y.has_rank()) return std::nullopt;
  const int rank = std::max(x.rank(), y.rank());
  std::vector<std::int32_t> axes;
  for (int i = 0; i < rank; ++i) {
    const int ix = i - (rank - x.rank());
    const int iy = i - (rank - y.rank());
    if (ix < 0) {
      axes.push_back(i);
      continue;
    }
    const std::int64_t other = iy < 0 ? 1 : y[iy];
    if (x[ix] > 1 || x[ix] == 0 || other == 1) continue;  // x steps here, or nothing was repeated
    if (x[ix] != 1) return std::nullopt;                  // unknown: 1 or as large as the other
    axes.push_back(i);
  }
  return axes;
}

Value shape_of(Value x) { return x.graph().add("Shape", {x}); }

Value known_shape(Graph& graph, const PartialShape& shape) {
  return constant(graph, Tensor::vector<std::int64_t>(shape.sizes()));
}

Value sum_over(Value x, Value dx, const std::vector<std::int32_t>& axes) {
  Graph& graph = x.graph();
  if (axes.empty()) return dx;
  const bool only_leading = static_cast<int>(axes.size()) == axes.back() + 1 &&
                            dx.shape().rank() - static_cast<int>(axes.size()) == x.shape().rank();
  const Value sum = graph.add("Sum", {dx, constant(graph, Tensor::vector(axes))});
  if (only_leading) return sum;
  return graph.add("Reshape", {sum, x.shape().is_full() ? known_shape(graph, x.shape()) : shape_of(x)});
}

}  // namespace

std::vector<Value> sum_to_operands(Value x, Value y, Value dx, Value dy) {
  if (!x.valid() || !y.valid()) return {Value(), Value()};
  Graph& graph = x.graph();
  const auto x_axes = repeated_axes(x.shape(), y.shape());
  const auto y_axes = repeated_axes(y.shape(), x.shape());
  Value open_axes;  // found by the step, for either operand
  Value x_shape;
  Value y_shape;
  if ((dx.valid() && !x_axes) || (dy.valid() && !y_axes)) {
    x_shape = shape_of(x);
    y_shape = shape_of(y);
    open_axes = graph.add("BroadcastGradientArgs", {x_shape, y_shape});
  }
  const auto summed = [&](Value operand, Value d, const auto& axes, int index, Value shape) -> Value {
    if (!d.valid()) return d;
    if (axes) return sum_over(operand, d, *axes);
    return graph.add("Reshape", {graph.add("Sum", {d, open_axes.output(index)}), shape});
  };
  return {summed(x, dx, x_axes, 0, x_shape), summed(y, dy, y_axes, 1, y_shape)};
}

Value sum_to_shape_of(Value x, Value dx) { return sum_to_operands(x, dx, dx, Value())[0]; }

}  // namespace argosy
