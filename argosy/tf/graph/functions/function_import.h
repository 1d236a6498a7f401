// Converts a TensorFlow FunctionDef to an argosy::Function. Internal to argosy/tf.
#pragma once

#include <memory>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

// The attribute that export sets on an argument that it had to rename. Its value is the parameter's name in our graph.
inline constexpr const char* kNameAttr = "_argosy_name";

// Returns a function with body, parameters and returns; the caller sets its name. `context.functions` resolves the
// functions that the body calls. `producer`: the producer version of its GraphDef. Errors name the node of the body.
Result<std::shared_ptr<Function>> import_function(const OpRegistry& ops, const tensorflow::FunctionDef& def,
                                                  const FunctionSignature& signature, int producer,
                                                  const BuildContext& context);

// Adds the gradient of `function` to `graph`, as a function `name` with SymbolicGradient's signature:
//   (inputs, gradients of the outputs) -> gradients of the inputs, zeros for inputs without a gradient.
// REQUIRES: `graph` has `function`. An error also becomes the graph's status.
Result<std::shared_ptr<Function>> import_gradient(Graph& graph, const Function& function, const std::string& name);

}  // namespace argosy::tf
