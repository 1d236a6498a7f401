#include "argosy/ops/select/select.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/select/select_sharding.h"

namespace argosy {

namespace {

// The first form: t and e of one shape; the condition of that shape, one bool, or one bool for each row.
Status select_shape(ShapeContext& c) {
  auto merged = c.input(1).merge(c.input(2));
  if (!merged.ok())
    return invalid_argument(
        "Inputs to operation Select must have the same size and shape: Select: t and e must have one shape: ",
        merged.status().message());
  PartialShape shape = *std::move(merged);
  const PartialShape& condition = c.input(0);
  if (condition.has_rank() && shape.has_rank() && condition.rank() > 0) {
    const bool rows = condition.rank() == 1 && shape.rank() >= 1;
    const bool fits = rows ? condition[0] < 0 || shape[0] < 0 || condition[0] == shape[0] : condition.compatible(shape);
    if (!fits && rows && shape.rank() > 1) {
      return invalid_argument("Number of batches of 'then' must match size of 'cond', but saw: ", shape[0], " vs. ",
                              condition[0]);
    }
    if (!fits) {
      return invalid_argument("Inputs to operation ", c.op().name, " of type Select must have the same size and shape.",
                              "  Input 0: ", condition, " != input 1: ", shape);
    }
  }
  c.set_output(0, std::move(shape));
  return ok_status();
}

Value select(Value condition, Value x, Value y) {
  return condition.valid() ? condition.graph().add("SelectV2", {condition, x, y}) : Value();
}

std::vector<Value> select_gradient(GradContext& g) {
  const Value none = zeros_like(g.dy());
  return {Value(), g.graph().add("Select", {g.x(0), g.dy(), none}), g.graph().add("Select", {g.x(0), none, g.dy()})};
}

std::vector<Value> select_v2_gradient(GradContext& g) {
  const Value none = constant_like(g.dy(), 0);
  return {Value(), sum_to_operands(g.x(1), g.y(), select(g.x(0), g.dy(), none), Value())[0],
          sum_to_operands(g.x(2), g.y(), select(g.x(0), none, g.dy()), Value())[0]};
}

std::optional<PartialInts> select_ints(const ShapeContext& c, int) {
  const PartialInts* t = c.ints(1);
  const PartialInts* e = c.ints(2);
  if (t == nullptr || e == nullptr || t->size() != e->size() || c.input(0).rank() > 0 || !c.input(0).has_rank()) {
    return std::nullopt;
  }
  PartialInts known(t->size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    if ((*t)[i] == (*e)[i]) known[i] = (*t)[i];
  }
  return known;
}

// y = min(max(x, low), high)
std::vector<Value> clip_gradient(GradContext& g) {
  const Value x = g.x(0);
  const Value below = less(x, g.x(1));
  const Value above = greater(x, g.x(2));
  const Value none = constant_like(g.dy(), 0);
  return {select(logical_or(below, above), none, g.dy()),
          sum_to_operands(g.x(1), x, select(below, g.dy(), none), Value())[0],
          sum_to_operands(g.x(2), x, select(above, g.dy(), none), Value())[0]};
}

Status clip_shape(ShapeContext& c) {
  for (const int limit : {1, 2}) {
    const bool one = c.input(limit).elements() == 1;
    if (!one && !c.input(limit).compatible(c.input(0)) && c.input(limit).is_full()) {
      return invalid_argument("ClipByValue: a limit of shape ", c.input(limit),
                              " must be one number or have the shape ", c.input(0));
    }
  }
  return same_as_input(c);
}

}  // namespace

void define_select(OpRegistry& ops) {
  ops.add({.name = "Select",
           .doc = "t where the condition holds, e elsewhere; the condition may choose whole rows.",
           .inputs = {"condition: bool", "t: T", "e: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = select_shape,
           .gradient = select_gradient,
           .known_ints = select_ints,
           .linear = Linear::kJointly,
           .in_place = {{1, 0, true}, {2, 0, true}},
           .sharding_rule = select_sharding});
  ops.add({.name = "SelectV2",
           .doc = "t where the condition holds, e elsewhere; all three broadcast.",
           .inputs = {"condition: bool", "t: T", "e: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = broadcast_inputs,
           .gradient = select_v2_gradient,
           .known_ints = select_ints,
           .elementwise = true,
           .linear = Linear::kJointly,
           .in_place = {{1, 0, true}, {2, 0, true}},
           .sharding = "i.., i.., i.. -> i..; linear 1 2; broadcasts"});
  ops.add({.name = "ClipByValue",
           .doc = "t held within [clip_value_min, clip_value_max].",
           .inputs = {"t: T", "clip_value_min: T", "clip_value_max: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number"},
           .shape = clip_shape,
           .gradient = clip_gradient,
           .elementwise = true,
           .in_place = {{0, 0, true}},
           .sharding = "i.., i.., i.. -> i..; monotone 0; broadcasts"});
}

Value where(Value condition, Operand x, Operand y) {
  if (!condition.valid()) return {};
  const Value beside = x.is_number() ? y.value() : x.value();
  if (!beside.valid()) return {};
  const auto as_value = [&](const Operand& o) { return o.is_number() ? constant_like(beside, o.number()) : o.value(); };
  return select(condition, as_value(x), as_value(y));
}

Value clip_by_value(Value x, Operand low, Operand high) {
  if (!x.valid()) return {};
  const auto as_value = [&](const Operand& o) { return o.is_number() ? constant_like(x, o.number()) : o.value(); };
  return x.graph().add("ClipByValue", {x, as_value(low), as_value(high)});
}

}  // namespace argosy
