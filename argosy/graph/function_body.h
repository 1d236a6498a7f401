// FunctionBody: a function under construction. A branch or a loop body is written like any other code. While the body
// is open, nodes that are added to the graph around it go into the body, and so do its scopes. Values of the graph
// around it that such nodes take become parameters of the function: captures.
//
//   Value x = …;                       function f(arg, in/x) -> (y)
//   FunctionBody body(graph, "f");     captures: x
//   Value arg = body.parameter(…);
//   Value y = arg * x;
//   auto f = body.finish({y});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class FunctionBody {
 public:
  // Opens a body inside the innermost open body of `graph`, or in `graph` itself. Its name is made unique there. The
  // graph must stay where it is (not moved) until the body is closed.
  FunctionBody(Graph& graph, std::string_view name);
  ~FunctionBody();
  FunctionBody(const FunctionBody&) = delete;
  FunctionBody& operator=(const FunctionBody&) = delete;

  const std::string& name() const { return function_->name; }
  Graph& graph() { return function_->body; }
  Graph& outer() { return outer_; }

  // The next parameter. REQUIRES: nothing was captured yet.
  Value parameter(DType dtype, PartialShape shape, const HandleFact* refers_to = nullptr);
  // The next parameter, for a value such as `outer` (a reference becomes one inside, passed as its handle).
  Value parameter_like(const Value& outer, PartialShape shape);
  // Returns the body's value for a value of a graph around it: captures it if needed. The body's own are unchanged.
  // Not valid() for a control value, which is added to control_captures(), and for a value of an unrelated graph.
  Value local(const Value& v);

  // Closes the body and, unless the graph has failed, adds it, with the functions made inside it, to the graph's
  // functions. Nodes with effects, and control values among `returns`, are run even when no returned value needs them.
  std::shared_ptr<Function> finish(const std::vector<Value>& returns);
  // Closes the body without making a function of it.
  void close();

  // The values to pass for the parameters that follow the declared ones, in order; a reference as its handle.
  const std::vector<Value>& captures() const { return captures_; }
  // The control values outside the body that nodes of the body wait for.
  const std::vector<Value>& control_captures() const { return control_captures_; }

 private:
  friend class Graph;
  static Value add_plainly(Graph& graph, std::string_view op, std::vector<Value> inputs, AttrMap attrs,
                           std::string_view name);
  Value add_parameter(DType dtype, PartialShape shape, const HandleFact* refers_to, std::string_view name);
  Value as_argument(const Value& outer);
  Value from_argument(Value parameter, const Value& outer);
  Value capture(const Value& outer);

  Graph& outer_;
  std::shared_ptr<Function> function_;
  bool open_ = true;
  std::vector<std::pair<Value, Value>> seen_;  // (outer, here)
  std::vector<Value> captures_, control_captures_;
};

// True if the node has effects. Such a node runs whenever its function runs.
bool has_effect(const Node& node);

// Returns the function that a caller names. NOT_FOUND "ARG-FN-005": there is none. INVALID_ARGUMENT "ARG-FN-006": its
// numbers of parameters and results are not `inputs` and `outputs`.
Result<const Function*> find_function(const Graph& graph, std::string_view name, std::size_t inputs,
                                      std::size_t outputs);

}  // namespace argosy
