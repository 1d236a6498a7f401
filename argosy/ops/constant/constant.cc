#include "argosy/ops/constant/constant.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status const_shape(ShapeContext& c) {
  const Tensor& value = c.attrs().get<Tensor>("value");
  if (value.dtype() != c.attrs().get_type("dtype")) {
    return invalid_argument("Const: value is ", dtype_name(value.dtype()), ", dtype says ",
                            dtype_name(c.attrs().get_type("dtype")));
  }
  c.set_output(0, value.shape());
  return ok_status();
}

std::optional<PartialInts> const_ints(const ShapeContext& c, int) {
  const Tensor& value = c.attrs().get<Tensor>("value");
  if (value.dtype() != DType::kInt32 && value.dtype() != DType::kInt64) return std::nullopt;
  if (value.elements() > 1024) return std::nullopt;
  // A matrix (paddings) gives its numbers row by row.
  const auto numbers = to_int64s(value.shape().rank() > 1 ? value.reshaped({value.elements()}) : value, "Const");
  if (!numbers.ok()) return std::nullopt;
  return PartialInts(numbers->begin(), numbers->end());
}

Status attr_shape(ShapeContext& c) {
  c.set_output(0, c.attrs().get<PartialShape>("shape"));
  return ok_status();
}

// If a parameter is a handle, its attributes describe the value that it refers to.
Status arg_shape(ShapeContext& c) {
  const auto* dtype = c.attrs().find_as<DType>("_handle_dtype");
  const auto* shape = c.attrs().find_as<PartialShape>("_handle_shape");
  if (dtype != nullptr && shape != nullptr) c.set_handle(0, {*dtype, *shape});
  return attr_shape(c);
}

Status placeholder_default_shape(ShapeContext& c) {
  const PartialShape& shape = c.attrs().get<PartialShape>("shape");
  if (!shape.compatible(c.input(0))) {
    return invalid_argument("PlaceholderWithDefault: default of shape ", c.input(0), " does not fit shape ", shape);
  }
  c.set_output(0, shape);
  return ok_status();
}

Status identities_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return ok_status();
}

Status fill_shape(ShapeContext& c) {
  c.set_output(0, c.input_as_shape(0));
  return ok_status();
}

std::optional<PartialInts> fill_ints(const ShapeContext& c, int) {
  const PartialShape& y = c.output(0);
  if (!y.is_full() || y.rank() > 1 || y.elements() > 1024) return std::nullopt;
  return PartialInts(static_cast<std::size_t>(y.elements()), c.int_at(1, 0));
}

std::vector<Value> pass_on(GradContext& g) {
  std::vector<Value> dxs;
  for (int i = 0; i < g.num_inputs(); ++i) dxs.push_back(g.has_dy(i) ? g.dy(i) : Value());
  return dxs;
}

// y = fill(dims, v)  =>  dv = sum(dy)
std::vector<Value> fill_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value axes = graph.add(
      "Range", {constant(graph, std::int32_t{0}), graph.add("Rank", {g.dy()}), constant(graph, std::int32_t{1})});
  return {Value(), graph.add("Sum", {g.dy(), axes})};
}

}  // namespace

static void add_constant_ops(OpRegistry& ops) {
  const std::vector<std::string> t = {"T: type"};
  ops.add({.name = "Const",
           .doc = "A tensor given at build time.",
           .outputs = {"output: dtype"},
           .attrs = {"value: tensor", "dtype: type"},
           .shape = const_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = const_ints,
           .sharding = "whole: every device has it"});
  for (const char* name : {"Placeholder", "PlaceholderV2"}) {
    ops.add({.name = name,
             .doc = "A value to feed.",
             .outputs = {"output: dtype"},
             .attrs = {"dtype: type", name[11] == 0 ? "shape: shape = unknown" : "shape: shape"},
             .shape = attr_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .only_fed = true});
  }
  ops.add({.name = "FakeParam",
           .doc = "Stands for a value that a branch does not compute: nobody reads it.",
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "shape: shape"},
           .shape = attr_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .sharding = "whole: every device has it"});
  ops.add({.name = "PlaceholderWithDefault",
           .doc = "A value that may be fed.",
           .inputs = {"input: dtype"},
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "shape: shape"},
           .shape = placeholder_default_shape,
           .gradient = pass_on,
           .cost = free_cost,
           .forwards = true,
           .sharding = "once: it is fed"});
  ops.add({.name = "_Arg",
           .doc = "Parameter `index` of a function.",
           .outputs = {"output: T"},
           .attrs = {"T: type", "index: int >= 0", "shape: shape = unknown"},
           .shape = arg_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .opcode = Opcode::kParameter,
           .sharding = "once: it is given by the caller"});
  ops.add(
      {.name = "_Missing",
       .doc =
           "Stands where a node could not be imported; to be fed. A step that has to compute it ends with its error.",
       .outputs = {"output: dtype"},
       .attrs = {"dtype: type", "code: int >= 1", "message: string"},
       .shape = unknown_output,
       .gradient = kNotDifferentiable,
       .cost = free_cost,
       .stateful = true,
       .sharding = "whole: stands for an op that is missing"});
  ops.add({.name = "_ShapeError",
           .doc = "Stands where the shapes that a node reads do not fit together in this step. A step that gets there "
                  "ends with the node's error.",
           .inputs = {"inputs: Tin"},
           .outputs = {"outputs: Tout"},
           .attrs = {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "op: string", "code: int >= 1", "message: string",
                     "id: string = ''", "hint: string = ''"},
           .shape = unknown_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .sharding = "whole: it gives nothing"});
  const auto handed_through = [&](const char* name, const char* doc, GradientFn gradient, bool blocks,
                                  Opcode opcode = Opcode::kNone) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"input: T"},
             .outputs = {"output: T"},
             .attrs = {"T: type"},
             .shape = same_as_input,
             .gradient = gradient,
             .cost = free_cost,
             .known_ints = input_ints,
             .linear = Linear::kJointly,
             .forwards = true,
             .blocks_gradient = blocks,
             .opcode = opcode});
  };
  handed_through("Identity", "x", pass_on, false, Opcode::kIdentity);
  handed_through("Snapshot", "x", pass_on, false, Opcode::kSnapshot);
  handed_through("DebugGradientIdentity", "x, whose gradient a debugger looks at.", pass_on, false);
  handed_through("StopGradient", "x, as a constant of differentiation.", kNotDifferentiable, true);
  ops.add({.name = "PreventGradient",
           .doc = "x, with a gradient that must not be asked for.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "message: string = ''"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .linear = Linear::kJointly,
           .forwards = true,
           .sharding = "i.. -> i..; linear 0; monotone 0"});
  ops.add({.name = "IdentityN",
           .doc = "Each input, once all are there.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: list(type) >= 1"},
           .shape = identities_shape,
           .gradient = pass_on,
           .cost = free_cost,
           .sharding_rule = identity_n_sharding});
  ops.add({.name = "NoOp",
           .doc = "Nothing; a place to wait.",
           .shape = no_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .sharding = "whole: every device has it"});
  const std::vector<std::string> ones = {
      "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, "
      "complex128, bool}"};
  for (const char* name : {"ZerosLike", "OnesLike"}) {
    ops.add({.name = name,
             .doc = name[0] == 'Z' ? "Zeros of x's shape and dtype." : "Ones of x's shape and dtype.",
             .inputs = {"x: T"},
             .outputs = {"y: T"},
             .attrs = name[0] == 'Z' ? t : ones,
             .shape = same_as_input,
             .gradient = kNotDifferentiable,
             .elementwise = true,
             .blocks_gradient = true,
             .reads = Reads::kShape});
  }
  ops.add({.name = "Fill",
           .doc = "A tensor of shape dims, every element value.",
           .inputs = {"dims: index_type", "value: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "index_type: index = int32"},
           .shape = fill_shape,
           .gradient = fill_gradient,
           .known_ints = fill_ints,
           .broadcasts = Broadcasts::kSecond,
           .sharding = "size(0), - -> i..; linear 1; monotone 1",
           .host_inputs = {0}});
}

void define_constant(OpRegistry& ops) {
  with_sharding(ops, add_constant_ops,
                {{"Placeholder", "once: it is fed"},
                 {"PlaceholderV2", "once: it is fed"},
                 {"Identity", "i.. -> i..; linear 0; monotone 0"},
                 {"Snapshot", "i.. -> i..; linear 0; monotone 0"},
                 {"DebugGradientIdentity", "i.. -> i..; linear 0; monotone 0"},
                 {"StopGradient", "i.. -> i..; linear 0; monotone 0"},
                 {"ZerosLike", "i.. -> i..; unread 0"},
                 {"OnesLike", "i.. -> i..; unread 0"}});
}

Value constant(Graph& graph, Tensor value, std::string_view name) {
  const DType dtype = value.dtype();
  return graph.add("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, name);
}

namespace {

template <typename... Ts>
TypeList<Ts..., bool> and_bool(TypeList<Ts...>);
using ConstantTypes = decltype(and_bool(NumberTypes{}));

// The number as a T. Nothing, if T is an integer or bool and cannot hold it.
template <typename T, typename N>
std::optional<T> held_as(N number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number == N(0) || number == N(1) ? std::optional<T>(number == N(1)) : std::nullopt;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else if constexpr (!std::is_integral_v<T>) {
    return T(static_cast<double>(number));  // 16-bit and complex numbers
  } else if constexpr (std::is_integral_v<N>) {
    return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  } else {
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);  // a double, as the maximum may not be
    const double least = std::is_signed_v<T> ? -above : 0;
    const bool whole = number == std::trunc(number);
    return whole && number >= least && number < above ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  }
}

// What to do about a number that T cannot hold.
template <typename T, typename N>
std::string hint_for(N number) {
  if constexpr (!std::is_integral_v<T>) {
    return "";
  } else {
    if constexpr (std::is_floating_point_v<N>) {
      if (number != std::trunc(number) || std::isinf(number)) return "cast the value to a floating dtype first";
    }
    const std::string range = std::is_same_v<T, bool>
                                  ? "0 and 1"
                                  : str_cat(std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max());
    return str_cat(dtype_name(dtype_of<T>()), " holds ", range, "; cast the value to another dtype first");
  }
}

}  // namespace

Value constant_like(Value like, ExactNumber number) {
  if (!like.valid()) return {};
  Tensor t = Tensor::zeros(like.dtype(), {});
  const Status made = dispatch<ConstantTypes>(like.dtype(), "constant", [&]<typename T>() {
    return std::visit(
        [&](auto exact) {
          const std::optional<T> held = held_as<T>(exact);
          if (!held) {
            return invalid_argument("the number ", exact, " does not fit ", dtype_name(like.dtype()), " of '",
                                    like.name(), "'")
                .with_id("ARG-DTYPE-002")
                .with_hint(hint_for<T>(exact));
          }
          *t.data<T>() = *held;
          return ok_status();
        },
        number.value());
  });
  if (!made.ok()) return like.graph().fail(made), Value();
  return constant(like.graph(), std::move(t));
}

Value placeholder(Graph& graph, DType dtype, PartialShape shape, std::string_view name) {
  return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}}, name);
}

Value placeholder_with_default(Value value, PartialShape shape, std::string_view name) {
  if (!value.valid()) return {};
  return value.graph().add("PlaceholderWithDefault", {value}, {{"shape", std::move(shape)}}, name);
}

Value identity(Value x, std::string_view name) { return x.valid() ? x.graph().add("Identity", {x}, {}, name) : x; }
Value stop_gradient(Value x, std::string_view name) {
  return x.valid() ? x.graph().add("StopGradient", {x}, {}, name) : x;
}
Value zeros_like(Value x) { return x.valid() ? x.graph().add("ZerosLike", {x}) : x; }
Value ones_like(Value x) { return x.valid() ? x.graph().add("OnesLike", {x}) : x; }

Value group(Graph& graph, const std::vector<Value>& values, std::string_view name) {
  const auto after = graph.control_dependencies(values);
  return graph.add("NoOp", {}, {}, name);
}

Value with_dependencies(const std::vector<Value>& after, Value value, std::string_view name) {
  if (!value.valid()) return {};
  const auto scope = value.graph().control_dependencies(after);
  return identity(value, name);
}

}  // namespace argosy
