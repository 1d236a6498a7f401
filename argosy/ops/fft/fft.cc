#include "argosy/ops/fft/fft.h"

#include <algorithm>
#include <array>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

struct Names {
  const char *forward, *inverse, *real_forward, *real_inverse;
};
constexpr Names kNames[] = {{"FFT", "IFFT", "RFFT", "IRFFT"},
                            {"FFT2D", "IFFT2D", "RFFT2D", "IRFFT2D"},
                            {"FFT3D", "IFFT3D", "RFFT3D", "IRFFT3D"}};

int axes_of(std::string_view op) { return op.ends_with("2D") ? 2 : op.ends_with("3D") ? 3 : 1; }

Status expect_rank(const ShapeContext& c, int axes) {
  if (c.input(0).has_rank() && c.input(0).rank() < axes) {
    return invalid_argument(c.op().name, ": input must have rank of at least ", axes, ", not shape ", c.input(0));
  }
  return ok_status();
}

Status complex_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_rank(c, axes_of(c.op().name)));
  return same_as_input(c);
}

Status real_shape(ShapeContext& c) {
  const int axes = axes_of(c.op().name);
  const bool inverse = c.op().name.starts_with("I");
  const DType complex_dtype = c.attrs().get_type("Tcomplex"), real_dtype = c.attrs().get_type("Treal");
  if ((complex_dtype == DType::kComplex128) != (real_dtype == DType::kFloat64)) {
    return invalid_argument(c.op().name, ": Treal is ", dtype_name(real_dtype), ", but Tcomplex ",
                            dtype_name(complex_dtype));
  }
  ARGOSY_RETURN_IF_ERROR(expect_rank(c, axes));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape length, c.with_rank(1, 1));
  if (!length.compatible({axes})) {
    return invalid_argument(c.op().name, ": fft_length must have shape [", axes, "], not ", length);
  }
  if (!c.input(0).has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = c.input(0).sizes();
  for (int i = 0; i < axes; ++i) {
    const auto n = c.int_at(1, i);
    if (n && *n < 0) return invalid_argument(c.op().name, ": fft_length[", i, "] must be >= 0, not ", *n);
    const bool halved = i == axes - 1 && !inverse;
    sizes[sizes.size() - static_cast<std::size_t>(axes - i)] =
        n ? (halved && *n > 0 ? *n / 2 + 1 : *n) : PartialShape::kUnknown;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// 5 n log2 n operations a transform.
Cost fft_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 40;
  return cost;
}

// The number of elements of a transform, in x's dtype: the last `axes` sizes multiplied.
Value count(GradContext& g, Value sizes, DType dtype) {
  const Value n = g.graph().add("Prod", {sizes, constant(g.graph(), 0)});
  const DType real = dtype == DType::kComplex128 || dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return cast(cast(n, real), dtype);
}
Value last_sizes(GradContext& g, Value x, int axes) {
  Graph& graph = g.graph();
  const Value begin = constant(graph, Tensor::vector<std::int32_t>({-axes}));
  const Value zero = constant(graph, Tensor::vector<std::int32_t>({0}));
  const Value one = constant(graph, Tensor::vector<std::int32_t>({1}));
  return graph.add("StridedSlice", {graph.add("Shape", {x}), begin, zero, one}, {{"end_mask", 1}});
}

std::vector<Value> forward_gradient(GradContext& g) {
  const int axes = axes_of(g.node().op->name);
  return {ifft(g.dy(), axes) * count(g, last_sizes(g, g.dy(), axes), g.dy().dtype())};
}
std::vector<Value> inverse_gradient(GradContext& g) {
  const int axes = axes_of(g.node().op->name);
  return {fft(g.dy(), axes) / count(g, last_sizes(g, g.dy(), axes), g.dy().dtype())};
}

// x with zeros behind the last axes, up to `sizes`.
Value padded(GradContext& g, Value x, Value sizes, int axes) {
  Graph& graph = g.graph();
  const Value more = sizes - last_sizes(g, x, axes);
  const Value rank = graph.add("ExpandDims", {graph.add("Rank", {x}), constant(graph, 0)});
  const Value none = graph.add("Fill", {rank - axes, constant(graph, 0)});
  const Value behind = graph.add("ConcatV2", {none, more, constant(graph, 0)});
  const Value paddings = graph.add("Pack", {graph.add("ZerosLike", {behind}), behind}, {{"axis", 1}});
  return graph.add("Pad", {x, paddings});
}

// The transform's adjoint: the unscaled inverse transform of the gradient, with zeros for the numbers left out.
std::vector<Value> real_forward_gradient(GradContext& g) {
  const int axes = axes_of(g.node().op->name);
  const Value length = g.x(1);
  const Value dy = padded(g, g.dy(), length, axes);
  const Value dx = real(ifft(dy, axes) * count(g, length, dy.dtype()));
  return {padded(g, dx, last_sizes(g, g.x(0), axes), axes), Value()};
}

// The transform of the gradient. Numbers that also stand for their conjugates count twice.
std::vector<Value> real_inverse_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const int axes = axes_of(g.node().op->name);
  const Value length = g.x(1);
  const DType dtype = g.x(0).dtype();
  const Value dy = graph.add(kNames[axes - 1].real_forward, {g.dy(), length}, {{"Tcomplex", dtype}});
  const Value n = graph.add("GatherV2", {length, constant(graph, axes - 1), constant(graph, 0)});
  const Value k = graph.add("Range", {constant(graph, 0), floor_div(n, 2) + 1, constant(graph, 1)});
  const Value alone = graph.add("LogicalOr", {equal(k, 0), equal(k * 2, n)});
  const DType real_dtype = g.dy().dtype();
  const Value weight = cast(graph.add("SelectV2", {alone, constant(graph, 1), constant(graph, 2)}), real_dtype);
  const Value dx = dy * cast(weight / count(g, length, real_dtype), dtype);
  return {padded(g, dx, last_sizes(g, g.x(0), axes), axes), Value()};
}

}  // namespace

static void add_fft_ops(OpRegistry& ops) {
  const std::string complexes = "Tcomplex: {complex64, complex128} = complex64";
  const std::string reals = "Treal: {float, double} = float";
  for (const Names& names : kNames) {
    for (const bool inverse : {false, true}) {
      ops.add({.name = inverse ? names.inverse : names.forward,
               .doc = inverse ? "The inverse discrete Fourier transform." : "The discrete Fourier transform.",
               .inputs = {"input: Tcomplex"},
               .outputs = {"output: Tcomplex"},
               .attrs = {complexes},
               .shape = complex_shape,
               .gradient = inverse ? inverse_gradient : forward_gradient,
               .cost = fft_cost});
      ops.add({.name = inverse ? names.real_inverse : names.real_forward,
               .doc = inverse ? "Real values out of half a discrete Fourier transform."
                              : "Half the discrete Fourier transform of real values.",
               .inputs = {inverse ? "input: Tcomplex" : "input: Treal", "fft_length: int32"},
               .outputs = {inverse ? "output: Treal" : "output: Tcomplex"},
               .attrs = {reals, complexes},
               .shape = real_shape,
               .gradient = inverse ? real_inverse_gradient : real_forward_gradient,
               .cost = fft_cost,
               .host_inputs = {1}});
    }
  }
}

void define_fft(OpRegistry& ops) {
  with_sharding(ops, add_fft_ops,
                {{"FFT", "i.. a -> i.. a; whole a; linear 0"},
                 {"RFFT", "i.. a, . -> i.. 1; whole a; linear 0"},
                 {"IFFT", "i.. a -> i.. a; whole a; linear 0"},
                 {"IRFFT", "i.. a, . -> i.. 1; whole a; linear 0"},
                 {"FFT2D", "i.. a b -> i.. a b; whole a b; linear 0"},
                 {"RFFT2D", "i.. a b, . -> i.. 1 1; whole a b; linear 0"},
                 {"IFFT2D", "i.. a b -> i.. a b; whole a b; linear 0"},
                 {"IRFFT2D", "i.. a b, . -> i.. 1 1; whole a b; linear 0"},
                 {"FFT3D", "i.. a b c -> i.. a b c; whole a b c; linear 0"},
                 {"RFFT3D", "i.. a b c, . -> i.. 1 1 1; whole a b c; linear 0"},
                 {"IFFT3D", "i.. a b c -> i.. a b c; whole a b c; linear 0"},
                 {"IRFFT3D", "i.. a b c, . -> i.. 1 1 1; whole a b c; linear 0"}});
}

namespace {

Value transform(const char* Names::*name, Value x, int axes) {
  if (!x.valid()) return x;
  if (axes < 1 || axes > 3) {
    x.graph().fail(invalid_argument("a Fourier transform runs over 1, 2 or 3 axes, not ", axes));
    return {};
  }
  return x.graph().add(kNames[axes - 1].*name, {x});
}

Value real_transform(const char* Names::*name, Value x, const std::vector<std::int32_t>& length) {
  if (!x.valid()) return x;
  if (length.empty() || length.size() > 3) {
    x.graph().fail(invalid_argument("a Fourier transform runs over 1, 2 or 3 axes, not ", length.size()));
    return {};
  }
  const bool wide = x.dtype() == DType::kFloat64 || x.dtype() == DType::kComplex128;
  return x.graph().add(kNames[length.size() - 1].*name, {x, constant(x.graph(), Tensor::vector(length))},
                       {{"Treal", wide ? DType::kFloat64 : DType::kFloat32},
                        {"Tcomplex", wide ? DType::kComplex128 : DType::kComplex64}});
}

}  // namespace

Value fft(Value x, int axes) { return transform(&Names::forward, x, axes); }
Value ifft(Value x, int axes) { return transform(&Names::inverse, x, axes); }
Value rfft(Value x, const std::vector<std::int32_t>& length) { return real_transform(&Names::real_forward, x, length); }
Value irfft(Value x, const std::vector<std::int32_t>& length) {
  return real_transform(&Names::real_inverse, x, length);
}

}  // namespace argosy
