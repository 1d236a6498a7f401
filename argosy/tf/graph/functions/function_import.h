// FunctionDefs as functions of ours. Internal to argosy/tf.
#pragma once

#include <memory>

#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

// The attribute of an argument that holds our name of the parameter: TensorFlow has no such names.
inline constexpr const char* kNameAttr = "_argosy_name";

// Makes a function of ours: body, parameters and returns; the caller sets the name. Functions that it calls are asked
// for at `context.functions`. Errors name the node of the body.
Result<std::shared_ptr<Function>> import_function(const OpRegistry& ops, const tensorflow::FunctionDef& def,
                                                  const FunctionSignature& signature, int producer,
                                                  const BuildContext& context);

// Adds the gradient of `function` to `graph`, as a function `name` with SymbolicGradient's signature:
//   (inputs, gradients of the outputs) -> gradients of the inputs, zeros where there is none.
// REQUIRES: `graph` has `function`. An error sticks to the graph, too.
Result<std::shared_ptr<Function>> import_gradient(Graph& graph, const Function& function, const std::string& name);

}  // namespace argosy::tf
