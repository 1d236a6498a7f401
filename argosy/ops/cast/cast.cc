#include "argosy/ops/cast/cast.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast_sharding.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

bool continuous(DType d) { return is_floating(d) || is_complex(d); }
DType complex_of(DType d) { return d == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64; }
DType real_of(DType d) { return d == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32; }

std::vector<Value> cast_gradient(GradContext& g) {
  const DType from = g.x().dtype();
  return {continuous(from) && continuous(g.y().dtype()) ? cast(g.dy(), from) : Value()};
}

std::optional<PartialInts> cast_ints(const ShapeContext& c, int) {
  const PartialInts* x = c.ints(0);
  const DType to = c.attrs().get_type("DstT");
  if (x == nullptr || !is_integer(c.input_dtype(0)) || (to != DType::kInt32 && to != DType::kInt64))
    return std::nullopt;
  PartialInts known = *x;
  for (auto& n : known) {
    if (n && to == DType::kInt32 && (*n > INT32_MAX || *n < INT32_MIN)) n = std::nullopt;
  }
  return known;
}

std::vector<Value> real_gradient(GradContext& g) { return {complex(g.dy(), zeros_like(g.dy()))}; }
std::vector<Value> imag_gradient(GradContext& g) { return {complex(zeros_like(g.dy()), g.dy())}; }
std::vector<Value> conj_gradient(GradContext& g) { return {g.graph().add("Conj", {g.dy()})}; }
std::vector<Value> complex_gradient(GradContext& g) {
  return sum_to_operands(g.x(0), g.x(1), real(g.dy()), imag(g.dy()));
}
// The gradient of |z| is along z / |z|.
std::vector<Value> complex_abs_gradient(GradContext& g) {
  return {div_no_nan(complex(g.dy(), zeros_like(g.dy())) * g.x(), complex(g.y(), zeros_like(g.y())))};
}
// d arg(z) = Re(-i dz / z), so the gradient is i dy / conj(z).
std::vector<Value> angle_gradient(GradContext& g) { return {complex(zeros_like(g.dy()), g.dy()) / conj(g.x())}; }

Status bitcast_shape(ShapeContext& c) {
  const auto from = static_cast<std::int64_t>(element_bytes(c.input_dtype(0)));
  const auto to = static_cast<std::int64_t>(element_bytes(c.attrs().get_type("type")));
  const PartialShape& shape = c.input(0);
  if (from == to) return same_as_input(c);
  if (!shape.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = shape.sizes();
  if (from > to) {
    sizes.push_back(from / to);
  } else {
    if (sizes.empty() || (sizes.back() >= 0 && sizes.back() != to / from)) {
      return invalid_argument("Bitcast: from ", from, " to ", to, " bytes, the last axis must be ", to / from, ", not ",
                              shape);
    }
    sizes.pop_back();
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// Tout belongs to T: float to complex64, double to complex128.
template <DType (*matching)(DType)>
Status matching_parts(ShapeContext& c) {
  const DType from = c.attrs().get_type("T");
  const DType to = c.attrs().get_type("Tout");
  if (to != matching(from)) {
    return invalid_argument(c.op().name, ": Tout of ", dtype_name(from), " is ", dtype_name(matching(from)), ", not ",
                            dtype_name(to));
  }
  return broadcast_inputs(c);
}

}  // namespace

static void add_cast_ops(OpRegistry& ops) {
  ops.add({.name = "Cast",
           .doc = "x in another dtype.",
           .inputs = {"x: SrcT"},
           .outputs = {"y: DstT"},
           .attrs = {"SrcT: type", "DstT: type", "Truncate: bool = false"},
           .shape = same_as_input,
           .gradient = cast_gradient,
           .known_ints = cast_ints,
           .elementwise = true,
           .linear = Linear::kJointly,
           .sharding_rule = cast_sharding});
  const std::string plain =
      "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
      "complex128, "
      "qint8, quint8, qint16, quint16, qint32}";
  ops.add({.name = "Bitcast",
           .doc = "The bytes of input as another dtype.",
           .inputs = {"input: T"},
           .outputs = {"output: type"},
           .attrs = {"T: " + plain, "type: " + plain},
           .shape = bitcast_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .forwards = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "Complex",
           .doc = "real + i imag",
           .inputs = {"real: T", "imag: T"},
           .outputs = {"out: Tout"},
           .attrs = {"T: {float, double} = float", "Tout: {complex64, complex128} = complex64"},
           .shape = matching_parts<complex_of>,
           .gradient = complex_gradient,
           .elementwise = true,
           .sharding = "i.., i.. -> i..; linear 0 1; broadcasts"});
  const auto part = [&](const char* name, const char* doc, const char* input, const char* output, GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {input},
             .outputs = {output},
             .attrs = {"T: {complex64, complex128} = complex64", "Tout: {float, double} = float"},
             .shape = matching_parts<real_of>,
             .gradient = gradient,
             .elementwise = true});
  };
  part("ComplexAbs", "The length of x.", "x: T", "y: Tout", complex_abs_gradient);
  part("Real", "The real part.", "input: T", "output: Tout", real_gradient);
  part("Imag", "The imaginary part.", "input: T", "output: Tout", imag_gradient);
  part("Angle", "The angle of input, in (-pi, pi].", "input: T", "output: Tout", angle_gradient);
  ops.add({.name = "Conj",
           .doc = "The complex conjugate.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {complex64, complex128, variant} = complex64"},
           .shape = same_as_input,
           .gradient = conj_gradient,
           .elementwise = true,
           .in_place = {{0, 0}},
           .sharding = "i.. -> i..; linear 0"});
}

void define_cast(OpRegistry& ops) {
  with_sharding(ops, add_cast_ops, {{"Real", "i.. -> i..; linear 0"}, {"Imag", "i.. -> i..; linear 0"}});
}

Value cast(Value x, DType dtype) {
  if (!x.valid() || x.dtype() == dtype) return x;
  return x.graph().add("Cast", {x}, {{"DstT", dtype}});
}
Value bitcast(Value x, DType dtype) { return x.valid() ? x.graph().add("Bitcast", {x}, {{"type", dtype}}) : x; }
Value complex(Value real, Value imag) {
  return real.valid() ? real.graph().add("Complex", {real, imag}, {{"Tout", complex_of(real.dtype())}}) : real;
}
namespace {
Value part_of(const char* op, Value x) {
  return x.valid() ? x.graph().add(op, {x}, {{"Tout", real_of(x.dtype())}}) : x;
}
}  // namespace
Value real(Value x) { return part_of("Real", x); }
Value imag(Value x) { return part_of("Imag", x); }
Value angle(Value x) { return part_of("Angle", x); }
Value conj(Value x) { return is_complex(x.dtype()) ? x.graph().add("Conj", {x}) : x; }

}  // namespace argosy
