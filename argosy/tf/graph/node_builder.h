// One NodeDef as a node of ours: attributes by the op's definition, defaults filled in, calls of functions as
// PartitionedCall. Internal to argosy/tf.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/graph/function_table.h"

namespace argosy::tf {

// What all nodes of one graph or function body are built with.
struct BuildContext {
  FunctionTable& functions;
  // Placeholders among attributes ("placeholder: T" in the body of a function with attributes); may be null.
  const AttrBindings* bindings = nullptr;
  // A step may get past it: the body of a branch, what is behind a Switch.
  bool chosen = false;
};

// Where a node comes from.
struct NodeSource {
  const tensorflow::NodeDef* def = nullptr;
  int producer = 0;  // the version of the graph it came in
};

// NOT_FOUND when the node's op is neither ours nor a function.
Status check_op(const OpRegistry& ops, const tensorflow::NodeDef& def, const BuildContext& context);

// Adds the node, its inputs being there. Of a loop's Merge, `missing` inputs are yet to come (Graph::add_input).
// Functions that its attributes name are asked for (FunctionTable::use); they need not be there yet. The error lacks
// only the node's name.
Result<NodeId> add_node_def(Graph& graph, const NodeSource& source, std::vector<Endpoint> inputs,
                            std::vector<NodeId> controls, int missing, const BuildContext& context);

// Which outputs the argument `out` of the node's op is: (first, count), as bodies of functions name them
// ("node:out:0"). INVALID_ARGUMENT when it has none of that name.
Result<std::pair<int, int>> outputs_of(const Graph& graph, NodeId id, std::string_view op, std::string_view out,
                                       const FunctionTable& functions);

// What a NodeDef says of the dtype of its data input number `position`; kInvalid when it, or its op, says nothing.
DType input_dtype(const OpRegistry& ops, const tensorflow::NodeDef& def, int position);

// "node 'x' (Op)"
std::string node_place(const tensorflow::NodeDef& def);

}  // namespace argosy::tf
