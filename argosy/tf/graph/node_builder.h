// Converts one NodeDef to a node of our graph: attributes by the op's definition, defaults filled in. A call of a
// function becomes a PartitionedCall. Internal to argosy/tf.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/graph/functions/function_table.h"

namespace argosy::tf {

// The context of all nodes of one graph or function body.
struct BuildContext {
  FunctionTable& functions;
  // Values of placeholder attributes ("placeholder: T" in the body of a function with attributes); may be null.
  const AttrBindings* bindings = nullptr;
  // A step may not execute the nodes: they are the body of a branch, or depend on a Switch.
  bool chosen = false;
};

// A NodeDef and its origin.
struct NodeSource {
  const tensorflow::NodeDef* def = nullptr;
  int producer = 0;  // the producer version of its GraphDef
};

// NOT_FOUND when the node's op is neither ours nor a function.
Status check_op(const OpRegistry& ops, const tensorflow::NodeDef& def, const BuildContext& context);

// Adds the node, whose inputs exist. A loop's Merge has `missing` inputs that are added later (Graph::add_input).
// Calls FunctionTable::use for the functions that its attributes name; they may be made later. An error does not name
// the node: see node_place().
Result<NodeId> add_node_def(Graph& graph, const NodeSource& source, std::vector<Endpoint> inputs,
                            std::vector<NodeId> controls, int missing, const BuildContext& context);

// Returns the outputs (first, count) of the op's output argument `out`, as in "node:out:0" in bodies of functions.
// INVALID_ARGUMENT: the op has no such argument.
Result<std::pair<int, int>> outputs_of(const Graph& graph, NodeId id, std::string_view op, std::string_view out,
                                       const FunctionTable& functions);

// Returns the dtype of data input number `position`, by the NodeDef's attributes; kInvalid: they and the op leave it
// open.
DType input_dtype(const OpRegistry& ops, const tensorflow::NodeDef& def, int position);

// "node 'x' (Op)"
std::string node_place(const tensorflow::NodeDef& def);

}  // namespace argosy::tf
