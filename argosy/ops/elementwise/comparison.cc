#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/elementwise/elementwise_registration.h"

namespace argosy::elementwise {

namespace {

// With incompatible_shape_error = false, shapes that do not broadcast compare as a whole: one bool.
Status equality_shape(ShapeContext& c) {
  if (c.attrs().get_bool("incompatible_shape_error")) return broadcast_inputs(c);
  const auto shape = broadcast(c.input(0), c.input(1));
  if (!shape.ok()) {
    c.set_output(0, PartialShape::scalar());
  } else if (c.input(0).is_full() && c.input(1).is_full()) {
    c.set_output(0, *shape);
  }
  return ok_status();
}

struct ComparisonRow {
  const char* name;
  const char* doc;
};

}  // namespace

void define_comparison(OpRegistry& ops) {
  for (const ComparisonRow& row : {ComparisonRow{"Equal", "x == y"}, {"NotEqual", "x != y"}}) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T", "y: T"},
             .outputs = {"z: bool"},
             .attrs = {"T: type", "incompatible_shape_error: bool = true"},
             .shape = equality_shape,
             .gradient = kNotDifferentiable,
             .commutative = true,
             .elementwise = true,
             .blocks_gradient = true});
  }
  for (const ComparisonRow& row :
       {ComparisonRow{"Less", "x < y"}, {"LessEqual", "x <= y"}, {"Greater", "x > y"}, {"GreaterEqual", "x >= y"}}) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T", "y: T"},
             .outputs = {"z: bool"},
             .attrs = {"T: real"},
             .shape = broadcast_inputs,
             .gradient = kNotDifferentiable,
             .elementwise = true,
             .blocks_gradient = true});
  }
  for (const ComparisonRow& row : {ComparisonRow{"LogicalAnd", "x and y"}, {"LogicalOr", "x or y"}}) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: bool", "y: bool"},
             .outputs = {"z: bool"},
             .shape = broadcast_inputs,
             .gradient = kNotDifferentiable,
             .commutative = true,
             .elementwise = true,
             .blocks_gradient = true,
             .in_place = {{0, 0, true}, {1, 0, true}}});
  }
}

}  // namespace argosy::elementwise
