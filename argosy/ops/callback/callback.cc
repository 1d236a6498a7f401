#include "argosy/ops/callback/callback.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

// The gradient of EagerPyFunc is another one, which TensorFlow's Python makes: it alone has the functions.
static void add_callback_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> attrs) {
    attrs.insert(attrs.end(), {"Tin: list(type) >= 0", "Tout: list(type) >= 0"});
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"input: Tin"},
             .outputs = {"output: Tout"},
             .attrs = std::move(attrs),
             .shape = unknown_output,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,  // also the stateless one: nothing of ours may call it at another time or place
             .cpu_only = true,
             .in_host_memory = std::string_view(name) == "EagerPyFunc",
             .async = true});
  };
  add("PyFunc", "Calls a function of the program that built the graph.", {"token: string"});
  add("PyFuncStateless", "Calls a function of the program that gives the same for the same.", {"token: string"});
  add("EagerPyFunc", "Calls a function of the program that computes with TensorFlow itself.",
      {"token: string", "is_async: bool = false"});
}

void define_callback(OpRegistry& ops) { with_sharding(ops, add_callback_ops, {}, "once: it calls into the client"); }

std::vector<Value> py_func(Graph& graph, std::vector<Value> inputs, const std::string& token,
                           const std::vector<DType>& dtypes) {
  const Value first = graph.add("PyFunc", inputs, {{"token", token}, {"Tout", dtypes}});
  std::vector<Value> outputs;
  for (int i = 0; first.valid() && i < static_cast<int>(dtypes.size()); ++i) outputs.push_back(first.output(i));
  return outputs;
}

}  // namespace argosy
