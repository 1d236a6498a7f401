#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

// begin, end and strides are vectors. The kernel resolves them when it runs.
Status assign_shape(ShapeContext& c) {
  for (int i = 1; i < 4; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 1).status());
  if (c.num_outputs() > 0) c.set_output(0, c.input(0));
  return ok_status();
}

AttrMap masks_of(const AttrMap& attrs) {
  AttrMap masks;
  for (const char* name : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    masks.set(name, attrs.get_int(name));
  }
  return masks;
}

std::vector<Value> update_gradient(GradContext& g) {
  const AttrMap masks = masks_of(g.attrs());
  const Value dvalue = g.graph().add("StridedSlice", {g.dy(), g.x(1), g.x(2), g.x(3)}, masks);
  const Value dx =
      g.graph().add("TensorStridedSliceUpdate", {g.dy(), g.x(1), g.x(2), g.x(3), zeros_like(g.x(4))}, masks);
  return {dx, Value(), Value(), Value(), sum_to_shape_of(g.x(4), dvalue)};
}

}  // namespace

void define_array_assignments(OpRegistry& ops) {
  const std::vector<std::string> attrs = {"T: type",
                                          "Index: index",
                                          "begin_mask: int = 0",
                                          "end_mask: int = 0",
                                          "ellipsis_mask: int = 0",
                                          "new_axis_mask: int = 0",
                                          "shrink_axis_mask: int = 0"};
  const auto inputs = [](const char* first) {
    return std::vector<std::string>{first, "begin: Index", "end: Index", "strides: Index", "value: T"};
  };
  ops.add({.name = "TensorStridedSliceUpdate",
           .doc = "The input with a slice replaced.",
           .inputs = inputs("input: T"),
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = assign_shape,
           .gradient = update_gradient,
           .in_place = {{0, 0}},
           .sharding = "whole: it writes a part of its input",
           .host_inputs = {1, 2, 3}});
  ops.add({.name = "StridedSliceAssign",
           .doc = "Replaces a slice of a variable.",
           .inputs = inputs("ref: Ref(T)"),
           .outputs = {"output_ref: Ref(T)"},
           .attrs = attrs,
           .shape = assign_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: it writes a part of its input",
           .host_inputs = {1, 2, 3}});
  ops.add({.name = "ResourceStridedSliceAssign",
           .doc = "Replaces a slice of a variable.",
           .inputs = inputs("ref: resource"),
           .attrs = attrs,
           .shape = assign_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .sharding = "whole: it writes a part of its input",
           .host_inputs = {1, 2, 3}});
}

}  // namespace argosy
