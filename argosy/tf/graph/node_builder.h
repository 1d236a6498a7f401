// Makes one NodeDef a node of ours: attributes by the op's definition, defaults filled in. A call of a function becomes
// a PartitionedCall. Internal to argosy/tf.
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
  // Placeholders among attributes ("placeholder: T" in the body of a function with attributes); may be null.
  const AttrBindings* bindings = nullptr;
  // A step may not reach the nodes: the body of a branch, nodes behind a Switch.
  bool chosen = false;
};

// A NodeDef and its origin.
struct NodeSource {
  const tensorflow::NodeDef* def = nullptr;
  int producer = 0;  // the version of the graph it came in
};

// NOT_FOUND when the node's op is neither ours nor a function.
Status check_op(const OpRegistry& ops, const tensorflow::NodeDef& def, const BuildContext& context);

// Adds the node; its inputs exist. A loop's Merge has `missing` inputs that come later (Graph::add_input).
// Functions that its attributes name are asked for (FunctionTable::use) and may be made later. An error does not name
// the node: see node_place().
Result<NodeId> add_node_def(Graph& graph, const NodeSource& source, std::vector<Endpoint> inputs,
                            std::vector<NodeId> controls, int missing, const BuildContext& context);

// The outputs (first, count) of the op's output argument `out`. Bodies of functions name outputs so ("node:out:0").
// INVALID_ARGUMENT: the op has no such argument.
Result<std::pair<int, int>> outputs_of(const Graph& graph, NodeId id, std::string_view op, std::string_view out,
                                       const FunctionTable& functions);

// The dtype of data input number `position`, by the NodeDef's attributes; kInvalid if they and the op leave it open.
DType input_dtype(const OpRegistry& ops, const tensorflow::NodeDef& def, int position);

// "node 'x' (Op)"
std::string node_place(const tensorflow::NodeDef& def);

}  // namespace argosy::tf
