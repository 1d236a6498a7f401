#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/layout_sharding.h"

namespace argosy {

namespace {

// Sizes of input 0 with the paddings of input 1 added (sign 1) or taken off (sign -1).
Status padded_shape(ShapeContext& c, int sign) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape paddings, c.with_rank(1, 2));
  if (paddings[1] >= 0 && paddings[1] != 2) {
    return invalid_argument(c.op().name, ": paddings must be [rank, 2], not ", paddings);
  }
  PartialShape x = c.input(0);
  if (!x.has_rank()) {
    if (paddings[0] < 0 || paddings[0] > Shape::kMaxRank) return ok_status();
    x = PartialShape::unknown_of_rank(static_cast<int>(paddings[0]));
  }
  if (paddings[0] >= 0 && paddings[0] != x.rank()) {
    return invalid_argument("The first dimension of paddings must be the rank of inputs", paddings, " ", x, ": ",
                            c.op().name, ": paddings ", paddings, " for an input of shape ", x);
  }
  std::vector<std::int64_t> sizes = x.sizes();
  for (int i = 0; i < x.rank(); ++i) {
    const auto before = c.int_at(1, 2 * i);
    const auto after = c.int_at(1, 2 * i + 1);
    if ((before && *before < 0) || (after && *after < 0)) {
      return invalid_argument("Paddings must be non-negative: ", before.value_or(0), " ", after.value_or(0), ": ",
                              c.op().name, ": axis ", i, " has a negative padding");
    }
    if (!before || !after || sizes[i] < 0) {
      sizes[i] = PartialShape::kUnknown;
      continue;
    }
    const auto both = checked_add(*before, *after);
    const auto size = !both || sign < 0 ? both : checked_add(sizes[i], *both);
    if (!size || (sign < 0 && *both > sizes[i])) {
      return invalid_argument(c.op().name, ": paddings ", *before, " and ", *after, " do not fit axis ", i, " of size ",
                              sizes[i]);
    }
    sizes[i] = sign < 0 ? sizes[i] - *both : *size;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}
Status pad_shape(ShapeContext& c) { return padded_shape(c, 1); }
Status mirror_pad_grad_shape(ShapeContext& c) { return padded_shape(c, -1); }

// y = pad(x, paddings, v)  =>  dx = the part of dy that is x;  dv = the sum of the rest
std::vector<Value> pad_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value x = g.x(0);
  const Value paddings = g.x(1);
  const DType index = paddings.dtype();
  const auto pair = [&](std::int64_t a, std::int64_t b) {
    return constant(graph, Tensor::vector<std::int64_t>({a, b}));
  };
  const Value column = graph.add("Slice", {paddings, pair(0, 0), pair(-1, 1)});
  const Value begin = graph.add("Reshape", {column, constant(graph, Tensor::vector<std::int32_t>({-1}))});
  const Value dx = slice(g.dy(), begin, graph.add("Shape", {x}, {{"out_type", index}}));
  if (g.num_inputs() == 2) return {dx, Value()};
  const auto sum = [&](Value v) {
    const Value axes = graph.add(
        "Range", {constant(graph, std::int32_t{0}), graph.add("Rank", {v}), constant(graph, std::int32_t{1})});
    return graph.add("Sum", {v, axes});
  };
  return {dx, Value(), graph.add("Sub", {sum(g.dy()), sum(dx)})};
}

AttrMap mode_of(const GradContext& g) { return {{"mode", g.attrs().get_string("mode")}}; }
std::vector<Value> mirror_pad_gradient(GradContext& g) {
  return {g.graph().add("MirrorPadGrad", {g.dy(), g.x(1)}, mode_of(g)), Value()};
}
std::vector<Value> mirror_pad_grad_gradient(GradContext& g) {
  return {g.graph().add("MirrorPad", {g.dy(), g.x(1)}, mode_of(g)), Value()};
}

}  // namespace

void define_pads(OpRegistry& ops) {
  ops.add({.name = "Pad",
           .doc = "x in a frame of zeros: paddings[axis] = before, after.",
           .inputs = {"input: T", "paddings: Tpaddings"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tpaddings: index = int32"},
           .shape = pad_shape,
           .gradient = pad_gradient,
           .linear = Linear::kJointly,
           .sharding_rule = pad_sharding,
           .host_inputs = {1}});
  ops.add({.name = "PadV2",
           .doc = "x in a frame of constant_values.",
           .inputs = {"input: T", "paddings: Tpaddings", "constant_values: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tpaddings: index = int32"},
           .shape = pad_shape,
           .gradient = pad_gradient,
           .sharding_rule = pad_sharding,
           .host_inputs = {1, 2}});
  const std::vector<std::string> mirror = {"T: type", "Tpaddings: index = int32", "mode: {'REFLECT', 'SYMMETRIC'}"};
  ops.add({.name = "MirrorPad",
           .doc = "x in a frame of its own mirror image; REFLECT leaves the edge out of it.",
           .inputs = {"input: T", "paddings: Tpaddings"},
           .outputs = {"output: T"},
           .attrs = mirror,
           .shape = pad_shape,
           .gradient = mirror_pad_gradient,
           .sharding_rule = pad_sharding,
           .host_inputs = {1}});
  ops.add({.name = "MirrorPadGrad",
           .doc = "The frame of a mirror padding folded back and summed onto what it mirrors.",
           .inputs = {"input: T", "paddings: Tpaddings"},
           .outputs = {"output: T"},
           .attrs = mirror,
           .shape = mirror_pad_grad_shape,
           .gradient = mirror_pad_grad_gradient,
           .sharding_rule = pad_sharding,
           .host_inputs = {1}});
}

Value pad(Value x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings, std::string_view mode,
          double constant_value) {
  if (!x.valid()) return {};
  Graph& graph = x.graph();
  Tensor table = Tensor::zeros(DType::kInt64, {static_cast<std::int64_t>(paddings.size()), 2});
  bool small = true;
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    table.data<std::int64_t>()[2 * i] = paddings[i].first;
    table.data<std::int64_t>()[2 * i + 1] = paddings[i].second;
    small = small && std::max(paddings[i].first, paddings[i].second) < (std::int64_t{1} << 31);
  }
  if (small) {  // as tf.pad of a Python list does
    Tensor narrow = Tensor::zeros(DType::kInt32, table.shape());
    std::copy_n(table.data<std::int64_t>(), table.elements(), narrow.data<std::int32_t>());
    table = narrow;
  }
  const Value frame = constant(graph, table, "paddings");
  if (mode != "CONSTANT") return graph.add("MirrorPad", {x, frame}, {{"mode", std::string(mode)}});
  if (constant_value == 0) return graph.add("Pad", {x, frame});
  return graph.add("PadV2", {x, frame, constant_like(x, constant_value)});
}

}  // namespace argosy
