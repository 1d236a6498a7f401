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

// Copies the nodes of a function's body that `roots` need into the graph (or the body open in it), with `arguments` for
// its parameters. Returns the copies of the roots. Nodes keep their devices, and their names below the scopes in force.
// The argument of a parameter that no root needs may be Value().
std::vector<Value> instantiate(Graph& graph, const Graph& body, std::span<const NodeId> parameters,
                               std::span<const Value> arguments, std::span<const Endpoint> roots);

// Adds a function to the graph: `body` without the nodes that nothing needs, with the parameters and returns of `plan`.
// Returns its name.
struct FunctionPlan {
  std::vector<NodeId> args;
  std::vector<Endpoint> returns;
  std::vector<NodeId> control_returns;
};
Result<std::string> add_function_of(Graph& graph, const Graph& body, const FunctionPlan& plan, std::string_view name);

// True if a node of the body has effects, or gives another value each time.
bool is_stateful(const Function& function);

bool carries_gradient(const Value& v);
// Zeros, the initial value of a sum of gradients of x. If x is a handle: zeros for the value it refers to. REQUIRES:
// carries_gradient(x).
Value zero_gradient(const Value& x);

// The gradient of a function, as further nodes in a copy of its body.
struct FunctionGradient {
  Graph body;     // the forward nodes (ids as in the function), then the backward ones
  Graph forward;  // the forward nodes without saved_args: they compute `saved`
  int forward_size = 0;
  std::vector<NodeId> args;        // the function's own parameters
  std::vector<NodeId> dy_args;     // parameters for gradients of the returned values, one for each active one
  std::vector<NodeId> saved_args;  // parameters that stand for `saved`
  std::vector<Endpoint> saved;     // outputs of forward nodes that cannot be computed a second time (effects, random
                                   // numbers): the forward pass must return them
  std::vector<Endpoint> dxs;       // one per parameter; node.index < 0: it has no gradient
};
struct GradientRequest {
  std::vector<bool> active;  // the returned values that have a gradient
  std::vector<bool> wanted;  // the parameters whose gradients are needed
  std::string source;        // GradContext::source()
};
Result<FunctionGradient> differentiate(Graph& graph, const Function& function, const GradientRequest& request);

// Returns, for each returned value, whether it depends on one of `parameters` by a path that carries gradients.
std::vector<bool> reached_returns(const Function& function, const std::vector<bool>& parameters);

// Adds to the error of a function's gradient the path from loss to variable through its caller.
Status in_caller(const GradContext& g, const Status& error);

}  // namespace argosy
