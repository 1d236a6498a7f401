#include "argosy/ops/reduction/reduction.h"

#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction_gradients.h"
#include "argosy/ops/reduction/reduction_plan.h"
#include "argosy/ops/reduction/reduction_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// The axes, if they are known.
std::optional<std::vector<std::int64_t>> known_axes(const ShapeContext& c) {
  const PartialInts* known = c.ints(1);
  if (known == nullptr) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (const auto& axis : *known) {
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

Status reduced_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  const bool keep = c.attrs().get_bool("keep_dims");
  const auto axes = known_axes(c);
  if (!axes) {
    // In whatever shape the axes come.
    const std::int64_t folded = c.input(1).is_full() ? c.input(1).elements() : -1;
    if (keep) {
      c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
    } else if (folded >= 0 && folded <= x.rank()) {
      c.set_output(0, PartialShape::unknown_of_rank(x.rank() - static_cast<int>(folded)));
    }
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto set, reduction::axis_set(*axes, x.rank(), c.op().name));
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < x.rank(); ++i) {
    if (!set[i]) {
      sizes.push_back(x[i]);
    } else if (keep) {
      sizes.push_back(1);
    }
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

using Joined = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);
std::optional<std::int64_t> joined_sum(std::int64_t a, std::int64_t b) {
  std::int64_t z = 0;
  return __builtin_add_overflow(a, b, &z) ? std::optional<std::int64_t>() : z;
}
std::optional<std::int64_t> joined_product(std::int64_t a, std::int64_t b) {
  std::int64_t z = 0;
  return __builtin_mul_overflow(a, b, &z) ? std::optional<std::int64_t>() : z;
}
std::optional<std::int64_t> joined_maximum(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
std::optional<std::int64_t> joined_minimum(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// A list of sizes folded into one: what sizes of tensors are computed with. `kOfNothing`: of an empty list; -1: the
// kernel says.
template <Joined joined, int kOfNothing = -1>
std::optional<PartialInts> folded_ints(const ShapeContext& c, int) {
  const PartialInts* x = c.ints(0);
  const auto axes = known_axes(c);
  if (x == nullptr || !axes || c.input(0).rank() > 1) return std::nullopt;
  if (axes->empty() || c.input(0).rank() == 0) return *x;
  std::optional<std::int64_t> sum;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!(*x)[i]) return PartialInts{std::nullopt};
    sum = i == 0 ? (*x)[0] : joined(*sum, *(*x)[i]);
    if (!sum || (c.input_dtype(0) == DType::kInt32 && (*sum > INT32_MAX || *sum < INT32_MIN))) {
      return PartialInts{std::nullopt};
    }
  }
  if (!sum && kOfNothing < 0) return std::nullopt;
  return PartialInts(1, sum.value_or(kOfNothing));
}

// One operation for each element read.
Cost reduction_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops = static_cast<double>(std::max<std::int64_t>(c.input(0).elements(), 1));
  return cost;
}

Status arg_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (c.input(1).has_rank() && c.input(1).rank() != 0) {
    return invalid_argument(c.op().name, ": dimension must be one number, not of shape ", c.input(1));
  }
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument(c.op().name, ": the input has no axis to search");
  const auto axis = c.input_as_int(1);
  if (!axis) {
    c.set_output(0, PartialShape::unknown_of_rank(x.rank() - 1));
    return ok_status();
  }
  const int rank = x.rank();
  if (*axis < -rank || *axis >= rank) {
    return invalid_argument("Expected dimension in the range [", -rank, ", ", rank, "), but got ", *axis, ": ",
                            c.op().name, ": the axis is outside")
        .with_id("ARG-SHAPE-003");
  }
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.erase(sizes.begin() + (*axis < 0 ? *axis + rank : *axis));
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

struct ReductionRow {
  const char* name;
  const char* doc;
  const char* types;
  GradientFn gradient;
  KnownIntsFn known_ints = nullptr;
  IdentityWhen identity_when = IdentityWhen::kNoAxes;
};
constexpr ReductionRow kRows[] = {
    {"Sum", "The sum over the axes.", "T: number", reduction::sum_gradient, folded_ints<joined_sum, 0>},
    {"Mean", "The mean over the axes; of integers, rounded towards zero.", "T: number", reduction::mean_gradient},
    {"Prod", "The product over the axes.", "T: number", reduction::prod_gradient, folded_ints<joined_product, 1>},
    {"Max", "The largest along the axes.", "T: real", reduction::extreme_gradient, folded_ints<joined_maximum>},
    {"Min", "The smallest along the axes.", "T: real", reduction::extreme_gradient, folded_ints<joined_minimum>},
    {"EuclideanNorm", "The square root of the sum of squares over the axes.", "T: number",
     reduction::euclidean_norm_gradient, nullptr, IdentityWhen::kNever},
};

}  // namespace

static void add_reduction_ops(OpRegistry& ops) {
  for (const ReductionRow& row : kRows) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"input: T", "reduction_indices: Tidx"},
             .outputs = {"output: T"},
             .attrs = {"keep_dims: bool = false", row.types, "Tidx: index = int32"},
             .shape = reduced_shape,
             .gradient = row.gradient,
             .cost = reduction_cost,
             .known_ints = row.known_ints,
             .identity_when = row.identity_when,
             .linear = row.gradient == reduction::sum_gradient || row.gradient == reduction::mean_gradient
                           ? Linear::kJointly
                           : Linear::kNo,
             .opcode = row.gradient == reduction::sum_gradient ? Opcode::kSum : Opcode::kNone,
             .host_inputs = {1}});
  }
  for (const char* name : {"All", "Any"}) {
    ops.add({.name = name,
             .doc = name[1] == 'l' ? "Are all true along the axes?" : "Is any true along the axes?",
             .inputs = {"input: bool", "reduction_indices: Tidx"},
             .outputs = {"output: bool"},
             .attrs = {"keep_dims: bool = false", "Tidx: index = int32"},
             .shape = reduced_shape,
             .gradient = kNotDifferentiable,
             .cost = reduction_cost,
             .identity_when = IdentityWhen::kNoAxes,
             .blocks_gradient = true,
             .host_inputs = {1}});
  }
  const std::string searched =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool}";
  ops.add(
      {.name = "ArgMax",
       .doc = "Where the largest element lies along an axis; the first of equals.",
       .inputs = {"input: T", "dimension: Tidx"},
       .outputs = {"output: output_type"},
       .attrs = {searched, "Tidx: {int16, int32, int64} = int32", "output_type: {int16, uint16, int32, int64} = int64"},
       .shape = arg_shape,
       .gradient = kNotDifferentiable,
       .cost = reduction_cost,
       .blocks_gradient = true,
       .sharding_rule = arg_sharding,
       .host_inputs = {1}});
  ops.add({.name = "ArgMin",
           .doc = "Where the smallest element lies along an axis; the first of equals.",
           .inputs = {"input: T", "dimension: Tidx"},
           .outputs = {"output: output_type"},
           .attrs = {searched, "Tidx: index = int32", "output_type: index = int64"},
           .shape = arg_shape,
           .gradient = kNotDifferentiable,
           .cost = reduction_cost,
           .blocks_gradient = true,
           .sharding_rule = arg_sharding,
           .host_inputs = {1}});
  ops.add({.name = "L2Loss",
           .doc = "sum(t^2) / 2",
           .inputs = {"t: T"},
           .outputs = {"output: T"},
           .attrs = {"T: floating"},
           .shape = scalar_output,
           .gradient = reduction::l2_loss_gradient,
           .cost = reduction_cost,
           .sharding = "i.. -> -; sum i.."});
}

void define_reduction(OpRegistry& ops) {
  with_sharding(ops, add_reduction_ops,
                {{"Sum", {}, sum_sharding},
                 {"Mean", {}, mean_sharding},
                 {"Prod", {}, fold_sharding},
                 {"Max", {}, max_sharding},
                 {"Min", {}, min_sharding},
                 {"EuclideanNorm", {}, fold_sharding},
                 {"All", {}, fold_sharding},
                 {"Any", {}, fold_sharding}});
}

namespace {

Value axes_value(Value x, const Axes& axes) {
  Graph& graph = x.graph();
  if (!axes.all())
    return constant(graph, Tensor::vector(std::vector<std::int32_t>(axes.axes().begin(), axes.axes().end())));
  if (x.shape().has_rank()) {
    std::vector<std::int32_t> every(static_cast<std::size_t>(x.shape().rank()));
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<std::int32_t>(i);
    return constant(graph, Tensor::vector(every));
  }
  return graph.add("Range", {constant(graph, 0), graph.add("Rank", {x}), constant(graph, 1)});
}

Value reduce(const char* op, Value x, const Axes& axes, bool keep_dims) {
  return x.valid() ? x.graph().add(op, {x, axes_value(x, axes)}, {{"keep_dims", keep_dims}}) : x;
}

Value search(const char* op, Value x, int axis, DType output) {
  return x.valid() ? x.graph().add(op, {x, constant(x.graph(), axis)}, {{"output_type", output}}) : x;
}

}  // namespace

Value reduce_sum(Value x, Axes axes, bool keep_dims) { return reduce("Sum", x, axes, keep_dims); }
Value reduce_mean(Value x, Axes axes, bool keep_dims) { return reduce("Mean", x, axes, keep_dims); }
Value reduce_max(Value x, Axes axes, bool keep_dims) { return reduce("Max", x, axes, keep_dims); }
Value reduce_min(Value x, Axes axes, bool keep_dims) { return reduce("Min", x, axes, keep_dims); }
Value reduce_prod(Value x, Axes axes, bool keep_dims) { return reduce("Prod", x, axes, keep_dims); }
Value reduce_all(Value x, Axes axes, bool keep_dims) { return reduce("All", x, axes, keep_dims); }
Value reduce_any(Value x, Axes axes, bool keep_dims) { return reduce("Any", x, axes, keep_dims); }
Value reduce_euclidean_norm(Value x, Axes axes, bool keep_dims) { return reduce("EuclideanNorm", x, axes, keep_dims); }

Value reduce_logsumexp(Value x, Axes axes, bool keep_dims) {
  if (!x.valid()) return x;
  // The largest, moved out of the exponent; 0 where it is infinite, so that infinities do not cancel into NaN.
  Value most = reduce_max(x, axes, true);
  most = x.graph().add("SelectV2", {is_finite(most), most, zeros_like(most)});
  most = x.graph().add("StopGradient", {most});
  const Value sum = log(reduce_sum(exp(x - most), axes, keep_dims));
  return sum + (keep_dims ? most : reduce_max(most, axes, false));
}

Value reduce_variance(Value x, Axes axes, bool keep_dims) {
  return reduce_mean(square(x - reduce_mean(x, axes, true)), axes, keep_dims);
}
Value reduce_std(Value x, Axes axes, bool keep_dims) { return sqrt(reduce_variance(x, axes, keep_dims)); }

Value argmax(Value x, int axis, DType output) { return search("ArgMax", x, axis, output); }
Value argmin(Value x, int axis, DType output) { return search("ArgMin", x, axis, output); }
Value l2_loss(Value x) { return x.valid() ? x.graph().add("L2Loss", {x}) : x; }

}  // namespace argosy
