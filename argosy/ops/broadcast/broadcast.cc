#include "argosy/ops/broadcast/broadcast.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/broadcast/broadcast_rules.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

Status broadcast_to_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  const PartialShape shape = c.input_as_shape(1);
  const PartialShape& x = c.input(0);
  if (x.has_rank() && shape.has_rank()) {
    bool fits = x.rank() <= shape.rank();
    for (int i = 1; fits && i <= x.rank(); ++i) {
      const std::int64_t from = x[x.rank() - i];
      const std::int64_t to = shape[shape.rank() - i];
      fits = from < 0 || from == 1 || to < 0 || from == to;
    }
    if (!fits)
      return invalid_argument("Incompatible shapes: ", x, " vs. ", shape, ": BroadcastTo: shape ", x,
                              " does not broadcast to ", shape)
          .with_id("ARG-SHAPE-002");
  }
  c.set_output(0, shape);
  return ok_status();
}

std::vector<Value> broadcast_to_gradient(GradContext& g) { return {sum_to_shape_of(g.x(0), g.dy()), Value()}; }

// Returns the axes of both inputs, if they are known lists of sizes.
std::optional<internal::BroadcastAxes> known_axes(const ShapeContext& c) {
  std::vector<std::int64_t> shapes[2];
  for (const int i : {0, 1}) {
    if (c.ints(i) == nullptr) return std::nullopt;
    for (const auto& size : *c.ints(i)) {
      if (!size) return std::nullopt;
      shapes[i].push_back(*size);
    }
  }
  return internal::broadcast_axes(shapes[0], shapes[1]);
}

PartialInts as_ints(const std::vector<std::int64_t>& numbers) { return PartialInts(numbers.begin(), numbers.end()); }

Status gradient_args_shape(ShapeContext& c) {
  for (const int i : {0, 1}) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 1).status());
  const auto axes = known_axes(c);
  c.set_output(0, axes ? PartialShape{static_cast<std::int64_t>(axes->x_reduced.size())} : PartialShape{-1});
  c.set_output(1, axes ? PartialShape{static_cast<std::int64_t>(axes->y_reduced.size())} : PartialShape{-1});
  return ok_status();
}

std::optional<PartialInts> gradient_args_ints(const ShapeContext& c, int index) {
  const auto axes = known_axes(c);
  if (!axes) return std::nullopt;
  return as_ints(index == 0 ? axes->x_reduced : axes->y_reduced);
}

Status args_shape(ShapeContext& c) {
  std::int64_t rank = 0;
  for (const int i : {0, 1}) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, c.with_rank(i, 1));
    rank = rank < 0 || shape[0] < 0 ? -1 : std::max(rank, shape[0]);
  }
  c.set_output(0, PartialShape{rank});
  return ok_status();
}

std::optional<PartialInts> args_ints(const ShapeContext& c, int) {
  const auto axes = known_axes(c);
  return axes ? std::optional<PartialInts>(as_ints(axes->shape)) : std::nullopt;
}

}  // namespace

void define_broadcast(OpRegistry& ops) {
  ops.add({.name = "BroadcastTo",
           .doc = "input repeated to a shape.",
           .inputs = {"input: T", "shape: Tidx"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tidx: index = int32"},
           .shape = broadcast_to_shape,
           .gradient = broadcast_to_gradient,
           .identity_when = IdentityWhen::kSameShape,
           .linear = Linear::kJointly,
           .broadcasts = Broadcasts::kFirst,
           .sharding = "i.., size(0) -> i..; linear 0; broadcasts",
           .host_inputs = {1}});
  ops.add({.name = "BroadcastGradientArgs",
           .doc = "The axes that gradients of two broadcast shapes are summed over.",
           .inputs = {"s0: T", "s1: T"},
           .outputs = {"r0: T", "r1: T"},
           .attrs = {"T: index = int32"},
           .shape = gradient_args_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = gradient_args_ints,
           .blocks_gradient = true,
           .sharding = "whole: it compares sizes",
           .host_inputs = {0, 1},
           .host_outputs = {0, 1}});
  ops.add({.name = "BroadcastArgs",
           .doc = "The shape that two shapes broadcast to.",
           .inputs = {"s0: T", "s1: T"},
           .outputs = {"r0: T"},
           .attrs = {"T: index = int32"},
           .shape = args_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = args_ints,
           .blocks_gradient = true,
           .sharding = "whole: it compares sizes",
           .host_inputs = {0, 1},
           .host_outputs = {0}});
}

Value broadcast_to(Value x, Value shape) { return x.valid() ? x.graph().add("BroadcastTo", {x, shape}) : x; }
Value broadcast_to(Value x, const std::vector<std::int64_t>& shape) {
  return x.valid() ? broadcast_to(x, constant(x.graph(), Tensor::vector(shape))) : x;
}

}  // namespace argosy
