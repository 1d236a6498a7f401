// Control flow as users write it: conditionals, loops and calls, each one node whose branches and bodies are functions
// of the graph. Branches and bodies are ordinary code: what is added to the graph while they are called becomes theirs,
// and values from around them are captured.
//
//   Value y = cond_value(greater(x, 0), [&] { return sqrt(x); }, [&] { return x; });
//   std::vector<Value> last = while_loop({zero, start}, [&](const auto& v) { return less(v[0], n); },
//                                        [&](const auto& v) { return std::vector{v[0] + 1, v[1] * w}; });
//
// All of it is differentiable. Nodes with effects (assigns, prints) run when their branch or body does; as anywhere in
// a graph, their order is given by control_dependencies() alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

using Branch = std::function<std::vector<Value>()>;  // builds one branch; returns its values

// Returns the values of the branch that pred (bool[]) chooses. Both branches must return as many values, of the same
// dtypes. If they return none, the result is one control value: run it for the branch's effects.
std::vector<Value> cond(Value pred, const Branch& then_branch, const Branch& else_branch,
                        std::string_view name = "cond");
// The same for branches of one value.
Value cond_value(Value pred, const std::function<Value()>& then_branch, const std::function<Value()>& else_branch,
                 std::string_view name = "cond");
// The values of branch `index` (int32[]); of the last one if the index is out of range.
std::vector<Value> switch_case(Value index, const std::vector<Branch>& branches, std::string_view name = "switch_case");

// Options of while_loop().
struct WhileOptions {
  int parallel_iterations = 10;  // for TensorFlow only; here one iteration runs at a time
  // Shapes that the loop's values keep in all iterations; empty: their initial shapes. Needed if a value grows.
  std::vector<PartialShape> shape_invariants = {};
  // The most iterations of the loop; 0: no limit.
  std::int64_t maximum_iterations = 0;
  std::string name = "while";  // the scope of the loop's nodes
};
using LoopCondition = std::function<Value(const std::vector<Value>&)>;  // gives a bool scalar from the loop's values
// Computes the values of the next iteration, as many and of the same dtypes.
using LoopBody = std::function<std::vector<Value>(const std::vector<Value>&)>;

// Runs `body` while `condition` is true; returns the last values. `body` returns as many values as it gets, of the same
// dtypes.
std::vector<Value> while_loop(const std::vector<Value>& initial, const LoopCondition& condition, const LoopBody& body,
                              const WhileOptions& options = {});

// A function of a graph, defined once and called where it is needed, itself included.
struct FunctionValue {
  std::string name;             // in the graph's list of functions
  std::vector<Value> captures;  // passed after the arguments, by call()
  std::vector<DType> returns;   // of the returned values
  bool has_effects = false;     // it runs even if nothing needs its values
};
// A parameter of a function.
struct Parameter {
  DType dtype;         // of the argument
  PartialShape shape;  // what is known of its shape
};
// Defines a function of the graph: `body` builds it from its parameters. It may capture values from around it.
FunctionValue define_function(Graph& graph, std::string_view name, const std::vector<Parameter>& parameters,
                              const std::function<std::vector<Value>(const std::vector<Value>&)>& body);
// Calls the function with these arguments; returns its values.
std::vector<Value> call(Graph& graph, const FunctionValue& function, const std::vector<Value>& arguments,
                        std::string_view name = "");

}  // namespace argosy
