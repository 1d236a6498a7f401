// ask_op(): builds the ShapeContext of a node in a graph, for functions of its op such as OpDef::cost and OpDef::view.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

// Returns ask(context). The context ends with the call.
template <typename Ask>
auto ask_op(const Graph& graph, const Node& n, const Ask& ask) {
  std::vector<DType> dtypes;
  std::vector<const PartialShape*> shapes;
  std::vector<const PartialInts*> ints;
  for (const Endpoint e : n.inputs) {
    dtypes.push_back(graph.dtype(e));
    shapes.push_back(&graph.shape(e));
    ints.push_back(graph.known_ints(e));
  }
  std::vector<PartialShape> outputs = n.output_shapes;
  const ShapeContext context(*n.op, n.attrs, dtypes, shapes, ints, outputs);
  return ask(context);
}

}  // namespace argosy
