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

using Branch = std::function<std::vector<Value>()>;  // what builds one side of a conditional; gives its values

// What the branch that pred (bool[]) chooses gives; both must give as many values, of the same dtypes. Without values,
// one control value: run it for the branch's effects.
std::vector<Value> cond(Value pred, const Branch& then_branch, const Branch& else_branch,
                        std::string_view name = "cond");
// The same for branches of one value.
Value cond_value(Value pred, const std::function<Value()>& then_branch, const std::function<Value()>& else_branch,
                 std::string_view name = "cond");
// Branch `index` (int32[]); the last one when there is none of that number.
std::vector<Value> switch_case(Value index, const std::vector<Branch>& branches, std::string_view name = "switch_case");

// Of while_loop().
struct WhileOptions {
  int parallel_iterations = 10;  // kept for TensorFlow's sake; here one iteration is under way at a time
  // Shapes that the loop's values keep throughout; empty: those they start with. Needed where a value grows.
  std::vector<PartialShape> shape_invariants = {};
  // Ends the loop after so many iterations at the latest; 0: never.
  std::int64_t maximum_iterations = 0;
  std::string name = "while";  // the scope of the loop's nodes
};
using LoopCondition = std::function<Value(const std::vector<Value>&)>;  // gives a bool scalar from the loop's values
// Gives the next values, as many and of the same dtypes.
using LoopBody = std::function<std::vector<Value>(const std::vector<Value>&)>;

// The values once `condition` is false: `body` gives those of the next iteration, as many, of the same dtypes.
std::vector<Value> while_loop(const std::vector<Value>& initial, const LoopCondition& condition, const LoopBody& body,
                              const WhileOptions& options = {});

// A function defined once and called where it is needed, itself included.
struct FunctionValue {
  std::string name;             // in the graph's list of functions
  std::vector<Value> captures;  // passed after the arguments, by call()
  std::vector<DType> returns;   // of the returned values
  bool has_effects = false;     // it is run even where nobody needs its values
};
// What a function takes.
struct Parameter {
  DType dtype;         // of the argument
  PartialShape shape;  // what is known of its shape
};
// A function of the graph: `body` builds it from its parameters, and may use values from around it.
FunctionValue define_function(Graph& graph, std::string_view name, const std::vector<Parameter>& parameters,
                              const std::function<std::vector<Value>(const std::vector<Value>&)>& body);
// Its returned values for these arguments.
std::vector<Value> call(Graph& graph, const FunctionValue& function, const std::vector<Value>& arguments,
                        std::string_view name = "");

}  // namespace argosy
