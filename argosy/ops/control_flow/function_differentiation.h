// Differentiation of functions (If, Case, While, calls). Internal to the family.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/graph/function_body.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"

namespace argosy {

void define_functional(OpRegistry& ops);

std::vector<Value> if_gradient(GradContext& g);
std::vector<Value> case_gradient(GradContext& g);
std::vector<Value> while_gradient(GradContext& g);
std::vector<Value> call_gradient(GradContext& g);

// Copies what `roots` need of a function's body into the graph (or the body open in it), its parameters replaced by
// `arguments`; gives the roots' counterparts. Nodes keep their names below the scopes in force, and their devices.
// Parameters that nothing needs may be given as Value().
std::vector<Value> instantiate(Graph& graph, const Graph& body, std::span<const NodeId> parameters,
                               std::span<const Value> arguments, std::span<const Endpoint> roots);

// A function of the same body without what nothing needs, with parameters and returns of its own choice. Adds it to the
// graph's functions.
struct FunctionPlan {
  std::vector<NodeId> args;
  std::vector<Endpoint> returns;
  std::vector<NodeId> control_returns;
};
Result<std::string> add_function_of(Graph& graph, const Graph& body, const FunctionPlan& plan, std::string_view name);

// Does anything in the body have effects, or give other values every time?
bool is_stateful(const Function& function);

bool carries_gradient(const Value& v);
// Zeros to start a sum of gradients of x from; x may be a handle: then zeros for what it refers to.
// REQUIRES: carries_gradient(x).
Value zero_gradient(const Value& x);

// The gradient of a function, as further nodes in a copy of its body.
struct FunctionGradient {
  Graph body;     // the forward nodes (ids as in the function), then the backward ones
  Graph forward;  // the same, with nothing replaced by saved_args: what makes `saved`
  int forward_size = 0;
  std::vector<NodeId> args;        // the function's own parameters
  std::vector<NodeId> dy_args;     // parameters for what flows into the returned values, one for each that was active
  std::vector<NodeId> saved_args;  // parameters that stand for `saved`
  std::vector<Endpoint> saved;     // outputs of forward nodes that cannot be computed a second time (effects, random
                                   // numbers): the forward pass must hand them over
  std::vector<Endpoint> dxs;       // one per parameter; node.index < 0: nothing flows there
};
struct GradientRequest {
  std::vector<bool> active;  // the returned values that something flows into
  std::vector<bool> wanted;  // the parameters whose gradients anybody looks at
  std::string source;        // GradContext::source()
};
Result<FunctionGradient> differentiate(Graph& graph, const Function& function, const GradientRequest& request);

// Which of the function's returned values depend on these of its parameters, by ways a gradient can take?
std::vector<bool> reached_returns(const Function& function, const std::vector<bool>& parameters);

// The error of a function's gradient, with the way that leads from loss to variable through its caller.
Status in_caller(const GradContext& g, const Status& error);

}  // namespace argosy
