// Converts a TensorFlow FunctionDef to an argosy::Function. Internal to argosy/tf.
#pragma once

#include <memory>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

// The attribute of an argument that export had to rename: the parameter's name in our graph.
inline constexpr const char* kNameAttr = "_argosy_name";

// Makes body, parameters and returns; the caller sets the name. `context.functions` finds the functions that it calls.
// `producer`: the version of GraphDef that wrote it. Errors name the node of the body.
Result<std::shared_ptr<Function>> import_function(const OpRegistry& ops, const tensorflow::FunctionDef& def,
                                                  const FunctionSignature& signature, int producer,
                                                  const BuildContext& context);

// Adds the gradient of `function` to `graph`, as a function `name` with SymbolicGradient's signature:
//   (inputs, gradients of the outputs) -> gradients of the inputs, zeros where there is none.
// REQUIRES: `graph` has `function`. An error becomes the graph's status, too.
Result<std::shared_ptr<Function>> import_gradient(Graph& graph, const Function& function, const std::string& name);

}  // namespace argosy::tf
