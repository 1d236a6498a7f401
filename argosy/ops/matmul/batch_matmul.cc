#include "argosy/ops/matmul/batch_matmul.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {

namespace {

PartialShape leading(const PartialShape& s) {
  return PartialShape(std::vector<std::int64_t>(s.sizes().begin(), s.sizes().end() - 2));
}

Status at_least_matrix(const ShapeContext& c, int i) {
  if (c.input(i).has_rank() && c.input(i).rank() < 2) {
    return invalid_argument(c.op().name, ": input ", i, " must have rank 2 or more, not shape ", c.input(i))
        .with_id("ARG-SHAPE-004");
  }
  return ok_status();
}

Status batch_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(at_least_matrix(c, 0));
  ARGOSY_RETURN_IF_ERROR(at_least_matrix(c, 1));
  const PartialShape& x = c.input(0);
  const PartialShape& y = c.input(1);
  if (!x.has_rank() || !y.has_rank()) return ok_status();
  const int tx = c.attrs().get_bool("adj_x") ? 1 : 0;
  const int ty = c.attrs().get_bool("adj_y") ? 1 : 0;
  const std::int64_t kx = x[x.rank() - 1 - tx];
  const std::int64_t ky = y[y.rank() - 2 + ty];
  if (kx >= 0 && ky >= 0 && kx != ky) {
    return invalid_argument("Matrix size-incompatible: In[0]: ", x, ", In[1]: ", y, ": ", c.op().name,
                            ": inner dimensions differ: ", x, tx ? " (adjoint)" : "", " x ", y, ty ? " (adjoint)" : "")
        .with_id("ARG-SHAPE-010");
  }
  PartialShape batch;
  if (c.op().name == "BatchMatMul") {
    ARGOSY_ASSIGN_OR_RETURN(batch, leading(x).merge(leading(y)));
  } else {
    auto both = broadcast(leading(x), leading(y));
    if (!both.ok()) {
      return invalid_argument("In[0] and In[1] must have compatible batch dimensions: ", x, " vs. ", y, ": ",
                              both.status().message());
    }
    batch = *std::move(both);
  }
  std::vector<std::int64_t> sizes = batch.sizes();
  sizes.push_back(x[x.rank() - 2 + tx]);
  sizes.push_back(y[y.rank() - 1 - ty]);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Cost batch_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const PartialShape& x = c.input(0);
  if (x.rank() >= 2) {
    const std::int64_t k = x[x.rank() - (c.attrs().get_bool("adj_x") ? 2 : 1)];
    cost.flops *= 2 * static_cast<double>(std::max<std::int64_t>(k, 1));
  }
  return cost;
}

// Sums `d` over the leading axes along which `x` was repeated.
Value reduce_to(GradContext& g, Value d, Value x, Value other, bool is_x) {
  Graph& graph = g.graph();
  const PartialShape& sx = x.shape();
  const PartialShape& sy = other.shape();
  const auto fixed = [](const PartialShape& s) {
    if (!s.has_rank()) return false;
    for (int i = 0; i + 2 < s.rank(); ++i) {
      if (s[i] < 0) return false;
    }
    return true;
  };
  if (fixed(sx) && fixed(sy)) {
    const int extra = std::max(sx.rank(), sy.rank()) - sx.rank();
    std::vector<std::int32_t> axes;
    for (int i = 0; i < extra; ++i) axes.push_back(i);
    for (int i = 0; i + 2 < sx.rank(); ++i) {
      const int at = i + extra - (std::max(sx.rank(), sy.rank()) - sy.rank());
      if (sx[i] == 1 && at >= 0 && sy[at] != 1) axes.push_back(i + extra);
    }
    if (axes.empty()) return d;
    d = graph.add("Sum", {d, constant(graph, Tensor::vector(axes))});
    return graph.add("Reshape", {d, graph.add("Shape", {x})});
  }
  const auto ends = [&](Value v) {  // its shape without the matrix
    const auto at = [&](std::int32_t i) { return constant(graph, Tensor::vector<std::int32_t>({i})); };
    return graph.add("StridedSlice", {graph.add("Shape", {v}), at(0), at(-2), at(1)});
  };
  const Value axes = is_x ? graph.add("BroadcastGradientArgs", {ends(x), ends(other)})
                          : graph.add("BroadcastGradientArgs", {ends(other), ends(x)}).output(1);
  return graph.add("Reshape", {graph.add("Sum", {d, axes}), graph.add("Shape", {x})});
}

// As for MatMul, on the last two axes; "adj" conjugates as it transposes, so no Conj is needed.
std::vector<Value> batch_gradient(GradContext& g) {
  const bool ax = g.attrs().get_bool("adj_x");
  const bool ay = g.attrs().get_bool("adj_y");
  const Value x = g.x(0), y = g.x(1), dy = g.dy();
  const std::string& op = g.node().op->name;
  const auto product = [&](Value a, Value b, bool adj_a, bool adj_b) {
    AttrMap attrs = {{"adj_x", adj_a}, {"adj_y", adj_b}};
    if (op == "BatchMatMulV3") attrs.set("Tout", AttrValue(x.dtype()));
    return g.graph().add(op, {a, b}, std::move(attrs));
  };
  Value dx = ax ? product(y, dy, ay, true) : product(dy, y, false, !ay);
  Value dw = ay ? product(dy, x, true, ax) : product(x, dy, !ax, false);
  if (op != "BatchMatMul") {
    dx = reduce_to(g, dx, x, y, true);
    dw = reduce_to(g, dw, y, x, false);
  }
  return {dx, dw};
}

}  // namespace

Result<BatchBroadcast> broadcast_batch(std::string_view op, const Shape& x, const Shape& y, bool broadcast_them) {
  const Shape bx(x.sizes().first(x.rank() - 2)), by(y.sizes().first(y.rank() - 2));
  if (bx == by) return BatchBroadcast{bx, {}, {}};
  if (!broadcast_them) return invalid_argument(op, ": leading dimensions differ: ", x, " x ", y);
  ARGOSY_ASSIGN_OR_RETURN(Shape out, broadcast(bx, by));
  // The distance between neighbours along each axis of the result, in matrices; 0 where one is repeated.
  const auto indices = [&](const Shape& from) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(out.elements()), 0);
    const std::vector<std::int64_t> steps = from.strides();
    const std::vector<std::int64_t> out_steps = out.strides();
    const int extra = out.rank() - from.rank();
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      for (int axis = extra; axis < out.rank(); ++axis) {
        if (from[axis - extra] != 1) at[i] += i / out_steps[axis] % out[axis] * steps[axis - extra];
      }
    }
    return at;
  };
  return BatchBroadcast{out, indices(bx), indices(by)};
}

void define_batch_matmul(OpRegistry& ops) {
  const std::vector<std::string> flags = {"adj_x: bool = false", "adj_y: bool = false", "grad_x: bool = false",
                                          "grad_y: bool = false"};
  const auto with_flags = [&](std::vector<std::string> attrs) {
    attrs.insert(attrs.end(), flags.begin(), flags.end());
    return attrs;
  };
  ops.add({.name = "BatchMatMul",
           .doc = "x · y of each pair of matrices in two stacks of one shape.",
           .inputs = {"x: T", "y: T"},
           .outputs = {"output: T"},
           .attrs = with_flags({"T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"}),
           .shape = batch_shape,
           .gradient = batch_gradient,
           .cost = batch_cost,
           .linear = Linear::kEach,
           .sharding = "b.. i k, b.. k j -> b.. i j; sum k; linear each; flip adj_x 0; flip adj_y 1"});
  ops.add({.name = "BatchMatMulV2",
           .doc = "x · y of each pair of matrices; leading axes broadcast.",
           .inputs = {"x: T", "y: T"},
           .outputs = {"output: T"},
           .attrs = with_flags({"T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, "
                                "uint64, complex64, complex128}"}),
           .shape = batch_shape,
           .gradient = batch_gradient,
           .cost = batch_cost,
           .linear = Linear::kEach,
           .sharding = "b.. i k, b.. k j -> b.. i j; sum k; linear 0 | 1; flip adj_x 0; flip adj_y 1; broadcasts"});
  const std::string in = "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}";
  ops.add({.name = "BatchMatMulV3",
           .doc = "BatchMatMulV2 with dtypes of its own for x, y and the result.",
           .inputs = {"x: Ta", "y: Tb"},
           .outputs = {"output: Tout"},
           .attrs = with_flags({"Ta: " + in, "Tb: " + in,
                                "Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}"}),
           .shape = batch_shape,
           .gradient = batch_gradient,
           .cost = batch_cost,
           .linear = Linear::kEach,
           .sharding = "b.. i k, b.. k j -> b.. i j; sum k; linear 0 | 1; flip adj_x 0; flip adj_y 1; broadcasts"});
}

}  // namespace argosy
