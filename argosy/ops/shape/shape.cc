#include "argosy/ops/shape/shape.h"

#include <limits>

#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/shape/reshape_sizes.h"
#include "argosy/ops/shape/shape_sharding.h"

namespace argosy {

void define_ranges(OpRegistry& ops);  // range.cc

// Sizes of zero are left out of the products, on both sides, as TensorFlow does: so [0,6] seen as [0,2,-1] is [0,2,3].
Status complete_reshape(const Shape& from, Ints& sizes) {
  const std::string asked = sizes.to_string();
  int open = -1;
  bool zero = false;
  std::int64_t product = 1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && open >= 0)
      return invalid_argument("Only one input size may be -1, not both ", open, " and ", i, ": Reshape: ", asked,
                              " has more than one -1");
    if (sizes[i] < -1) {
      return invalid_argument("Size ", i, " must be non-negative, not ", sizes[i], ": Reshape: ", asked,
                              " has a negative size");
    }
    if (sizes[i] == 0) zero = true;
    if (sizes[i] == -1) open = i;
    if (sizes[i] == 0 || sizes[i] == -1) continue;
    const auto next = checked_mul(product, sizes[i]);
    if (!next) return invalid_argument("Reshape: ", asked, " has a negative size, or 2^63 elements or more");
    product = *next;
  }
  const std::int64_t asked_for = product;
  const auto does_not_fill = [&] {
    return invalid_argument("Input to reshape is a tensor with ", from.elements(), " values, but the requested shape ",
                            open >= 0 ? "requires a multiple of " : "has ", zero ? 0 : asked_for, ": Reshape: the ",
                            from.elements(), " elements of ", from, " do not fill ", asked)
        .with_id("ARG-SHAPE-005");
  };
  if (open >= 0) {
    std::int64_t rest = 1;
    bool left_out = false;
    for (const std::int64_t size : from.sizes()) {
      if (size == 0 && zero) {
        left_out = true;
      } else {
        rest *= size;
      }
    }
    if (!left_out && rest % product != 0) return does_not_fill();
    sizes[open] = rest / product;
    product = sizes[open] == 0 ? 0 : rest;
  }
  if ((zero ? 0 : product) != from.elements()) return does_not_fill();
  return ok_status();
}

namespace {

Status shape_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& x = c.input(i);
    c.set_output(i, PartialShape({x.has_rank() ? x.rank() : PartialShape::kUnknown}));
  }
  return ok_status();
}

std::optional<PartialInts> shape_ints(const ShapeContext& c, int index) {
  const PartialShape& x = c.input(index);
  if (!x.has_rank()) return std::nullopt;
  PartialInts sizes;
  for (const std::int64_t size : x.sizes()) {
    sizes.push_back(size < 0 ? std::nullopt : std::optional(size));
  }
  return sizes;
}

std::optional<PartialInts> size_ints(const ShapeContext& c, int) {
  const std::int64_t n = c.input(0).elements();
  if (n < 0) return std::nullopt;
  return PartialInts{n};
}

std::optional<PartialInts> rank_ints(const ShapeContext& c, int) {
  if (!c.input(0).has_rank()) return std::nullopt;
  return PartialInts{c.input(0).rank()};
}

// Where sizes are unknown, what is known of the product still helps: [?,28,28] seen as [-1,784] is [?,784], and one
// open place beside a known input follows.
Status reshape_shape(ShapeContext& c) {
  if (c.input(1).rank() > 1) return invalid_argument("Reshape: shape must be a vector, not of shape ", c.input(1));
  if (c.input(1).rank() == 0) {  // a scalar counts as a vector of one
    c.set_output(0, PartialShape({c.input_as_int(1).value_or(PartialShape::kUnknown)}));
    if (!c.input_as_int(1)) return ok_status();
  }
  const PartialShape& x = c.input(0);
  PartialShape y = c.input(1).rank() == 0 ? c.output(0) : c.input_as_shape(1);
  if (y.rank() > Shape::kMaxRank) return invalid_argument("Reshape: a shape of ", y.rank(), " axes");
  c.set_output(0, y);
  if (!y.has_rank() || c.ints(1) == nullptr) return ok_status();
  Ints sizes;
  int open = 0;
  for (int i = 0; i < y.rank(); ++i) {
    const auto size = c.int_at(1, i);
    if (size && *size < -1) return invalid_argument("Reshape: shape[", i, "] is ", *size);
    sizes.push_back(size.value_or(-1));
    if (!size || *size == -1) ++open;
  }
  if (x.is_full()) {
    if (open > 1) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Shape full, x.full());
    ARGOSY_RETURN_IF_ERROR(complete_reshape(full, sizes));
    c.set_output(0, PartialShape(std::vector(sizes.begin(), sizes.end())));
  }
  return ok_status();
}

// The same elements: dx = dy in x's shape.
std::vector<Value> reshape_gradient(GradContext& g) {
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = reshape(g.dy(),
                   shape(g.x(0), g.x(0).shape().elements() > std::numeric_limits<std::int32_t>::max() ? DType::kInt64
                                                                                                      : DType::kInt32));
  return dxs;
}

Status squeeze_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  const auto& axes = c.attrs().get<std::vector<std::int64_t>>("squeeze_dims");
  if (!x.has_rank()) return ok_status();
  std::vector<bool> gone(static_cast<std::size_t>(x.rank()), false);
  for (const std::int64_t given : axes) {
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, x.rank(), "Squeeze"));
    if (x[axis] >= 0 && x[axis] != 1) {
      return invalid_argument("Can not squeeze dim[", axis, "], expected a dimension of 1, got ", x[axis],
                              ": Squeeze: axis ", axis, " of ", x, " has a size of ", x[axis], ", not 1");
    }
    gone[static_cast<std::size_t>(axis)] = true;
  }
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < x.rank(); ++i) {
    if (axes.empty() && x[i] < 0) return ok_status();  // it may be a 1
    if (axes.empty() ? x[i] != 1 : !gone[static_cast<std::size_t>(i)]) sizes.push_back(x[i]);
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status expand_dims_shape(ShapeContext& c) {
  if (c.input(1).is_full() && c.input(1).elements() != 1) {
    return invalid_argument("ExpandDims: dim must be one number, not of shape ", c.input(1));
  }
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  const auto given = c.input_as_int(1);
  if (!given) {
    c.set_output(0, PartialShape::unknown_of_rank(x.rank() + 1));
    return ok_status();
  }
  if (*given < -x.rank() - 1 || *given > x.rank()) {
    return invalid_argument("Tried to expand dim index ", *given, " for tensor with ", x.rank(),
                            " dimensions: ExpandDims: axis ", *given, " is outside [", -x.rank() - 1, ", ",
                            x.rank() + 1, ")");
  }
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(*given, x.rank() + 1, "ExpandDims"));
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.insert(sizes.begin() + axis, 1);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

}  // namespace

void define_shape(OpRegistry& ops) {
  const auto about_shape = [&](OpSpec spec) {
    spec.gradient = kNotDifferentiable;
    spec.cost = free_cost;
    spec.blocks_gradient = true;
    spec.reads = Reads::kSizes;
    spec.host_outputs = {0};
    ops.add(std::move(spec));
  };
  about_shape({.name = "Shape",
               .doc = "The sizes of x along its axes.",
               .inputs = {"input: T"},
               .outputs = {"output: out_type"},
               .attrs = {"T: type", "out_type: index = int32"},
               .shape = shape_shape,
               .known_ints = shape_ints,
               .sharding = "shape -> 1"});
  about_shape({.name = "ShapeN",
               .doc = "The sizes of several values along their axes.",
               .inputs = {"input: N * T"},
               .outputs = {"output: N * out_type"},
               .attrs = {"N: int >= 1", "T: type", "out_type: index = int32"},
               .shape = shape_shape,
               .known_ints = shape_ints,
               .sharding = "shape * -> 1 *"});
  about_shape({.name = "Size",
               .doc = "The number of x's elements.",
               .inputs = {"input: T"},
               .outputs = {"output: out_type"},
               .attrs = {"T: type", "out_type: index = int32"},
               .shape = scalar_output,
               .known_ints = size_ints,
               .sharding = "shape -> -"});
  about_shape({.name = "Rank",
               .doc = "The number of x's axes.",
               .inputs = {"input: T"},
               .outputs = {"output: int32"},
               .attrs = {"T: type"},
               .shape = scalar_output,
               .known_ints = rank_ints,
               .sharding = "shape -> -"});
  ops.add({.name = "Reshape",
           .doc = "The same elements in another shape; one size may be -1: what is left.",
           .inputs = {"tensor: T", "shape: Tshape"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tshape: index = int32"},
           .shape = reshape_shape,
           .gradient = reshape_gradient,
           .cost = free_cost,
           .known_ints = input_ints,
           .identity_when = IdentityWhen::kSameShape,
           .linear = Linear::kJointly,
           .forwards = true,
           .sharding_rule = reshape_sharding,
           .host_inputs = {1}});
  ops.add({.name = "Squeeze",
           .doc = "x without axes of size 1: those given, or all.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "squeeze_dims: list(int) >= 0 = []"},
           .shape = squeeze_shape,
           .gradient = reshape_gradient,
           .cost = free_cost,
           .known_ints = input_ints,
           .identity_when = IdentityWhen::kSameShape,
           .linear = Linear::kJointly,
           .forwards = true,
           .sharding_rule = squeeze_sharding});
  ops.add({.name = "ExpandDims",
           .doc = "x with an axis of size 1 inserted at dim.",
           .inputs = {"input: T", "dim: Tdim"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tdim: index = int32"},
           .shape = expand_dims_shape,
           .gradient = reshape_gradient,
           .cost = free_cost,
           .known_ints = input_ints,
           .identity_when = IdentityWhen::kSameShape,
           .linear = Linear::kJointly,
           .forwards = true,
           .sharding_rule = expand_dims_sharding,
           .host_inputs = {1}});
  define_ranges(ops);
}

Value shape(Value x, DType out_type) { return x.valid() ? x.graph().add("Shape", {x}, {{"out_type", out_type}}) : x; }

std::vector<Value> shape_n(const std::vector<Value>& xs, DType out_type) {
  if (xs.empty() || !xs[0].valid()) return std::vector<Value>(xs.size());
  const Value first = xs[0].graph().add("ShapeN", xs, {{"out_type", out_type}});
  std::vector<Value> shapes;
  for (std::size_t i = 0; i < xs.size(); ++i) shapes.push_back(first.output(static_cast<int>(i)));
  return shapes;
}

Value size(Value x, DType out_type) { return x.valid() ? x.graph().add("Size", {x}, {{"out_type", out_type}}) : x; }
Value rank(Value x) { return x.valid() ? x.graph().add("Rank", {x}) : x; }

Value reshape(Value x, Value sizes, std::string_view name) {
  return x.valid() ? x.graph().add("Reshape", {x, sizes}, {}, name) : x;
}

Value reshape(Value x, const std::vector<std::int64_t>& sizes, std::string_view name) {
  if (!x.valid()) return x;
  std::vector<std::int32_t> narrow;  // as tf.reshape of a Python list does
  for (const std::int64_t s : sizes) {
    if (s > std::numeric_limits<std::int32_t>::max()) {
      return reshape(x, constant(x.graph(), Tensor::vector(sizes), "shape"), name);
    }
    narrow.push_back(static_cast<std::int32_t>(s));
  }
  return reshape(x, constant(x.graph(), Tensor::vector(narrow), "shape"), name);
}

Value squeeze(Value x, const std::vector<std::int64_t>& axes) {
  return x.valid() ? x.graph().add("Squeeze", {x}, {{"squeeze_dims", axes}}) : x;
}

Value expand_dims(Value x, int axis) {
  return x.valid() ? x.graph().add("ExpandDims", {x, constant(x.graph(), std::int32_t{axis})}) : x;
}

}  // namespace argosy
