// Definitions: several tensors as one variant, as tf.data and tf.function carry structured values.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/ragged/ragged_rows.h"

namespace argosy {

namespace {

Status to_components_shape(ShapeContext& c) { return c.with_rank(0, 0).status(); }

std::vector<Value> from_components_gradient(GradContext& g) {
  const Value d = g.graph().add("CompositeTensorVariantToComponents", {g.dy()}, g.attrs());
  std::vector<Value> dxs;
  for (int i = 0; i < g.num_inputs(); ++i) dxs.push_back(d.output(i));
  return dxs;
}

// A component that nothing flows into stands for itself, as in TensorFlow: splits and indices have no gradient.
std::vector<Value> to_components_gradient(GradContext& g) {
  std::vector<Value> parts;
  for (int i = 0; i < g.num_outputs(); ++i) parts.push_back(g.has_dy(i) ? g.dy(i) : g.y(i));
  return {g.graph().add("CompositeTensorVariantFromComponents", parts, g.attrs())};
}

}  // namespace

void define_composites(OpRegistry& ops) {
  const std::vector<std::string> attrs = {"metadata: string", "Tcomponents: list(type) >= 0"};
  ops.add({.name = "CompositeTensorVariantFromComponents",
           .doc = "Tensors as one variant, with what they are the components of.",
           .inputs = {"components: Tcomponents"},
           .outputs = {"encoded: variant"},
           .attrs = attrs,
           .shape = scalar_output,
           .gradient = from_components_gradient,
           .cost = free_cost,
           .cpu_only = true});
  ops.add({.name = "CompositeTensorVariantToComponents",
           .doc = "The tensors of such a variant.",
           .inputs = {"encoded: variant"},
           .outputs = {"components: Tcomponents"},
           .attrs = attrs,
           .shape = to_components_shape,
           .gradient = to_components_gradient,
           .cost = free_cost,
           .cpu_only = true});
}

}  // namespace argosy
