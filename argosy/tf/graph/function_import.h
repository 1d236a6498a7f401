// FunctionDefs as functions of ours. Internal to argosy/tf.
#pragma once

#include <memory>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

// What a parameter is called here, where TensorFlow has no such names: an attribute of the argument.
inline constexpr const char* kNameAttr = "_argosy_name";

// The body, its parameters and returns; the name is the caller's to give. What it calls is asked for at
// `context.functions`. Errors name the node of the body.
Result<std::shared_ptr<Function>> import_function(const OpRegistry& ops, const tensorflow::FunctionDef& def,
                                                  const FunctionSignature& signature, int producer,
                                                  const BuildContext& context);

// The gradient of a function that `graph` has, as SymbolicGradient gives it: adds to `graph` a function `name` that
// takes the function's inputs and what flows into its outputs, and gives what flows into its inputs (zeros where
// nothing does). An error sticks to the graph, too.
Result<std::shared_ptr<Function>> import_gradient(Graph& graph, const Function& function, const std::string& name);

}  // namespace argosy::tf
