#include "argosy/ops/debug/debug.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status assert_shape(ShapeContext& c) { return c.with_rank(0, 0).status(); }

Status print_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

Status text_shape(ShapeContext& c) { return c.with_rank(0, 0).status(); }

std::vector<Value> print_gradient(GradContext& g) {
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = g.dy();
  return dxs;
}

}  // namespace

static void add_debug_ops(OpRegistry& ops) {
  ops.add({.name = "Assert",
           .doc = "Ends the step, with these values, unless the condition holds.",
           .inputs = {"condition: bool", "data: T"},
           .attrs = {"T: list(type) >= 1", "summarize: int = 3"},
           .shape = assert_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kChecks,
           .in_host_memory = true,
           .host_inputs = {0, 1}});
  ops.add(
      {.name = "Print",
       .doc = "input; prints data.",
       .inputs = {"input: T", "data: U"},
       .outputs = {"output: T"},
       .attrs = {"T: type", "U: list(type) >= 0", "message: string = ''", "first_n: int = -1", "summarize: int = 3"},
       .shape = print_shape,
       .gradient = print_gradient,
       .cost = free_cost,
       .stateful = true,
       .effect = Effect::kPrints,
       .linear = Linear::kJointly,
       .cpu_only = true,
       .forwards = true});
  ops.add({.name = "PrintV2",
           .doc = "Prints a text.",
           .inputs = {"input: string"},
           .attrs = {"output_stream: string = 'stderr'", "end: string = '\n'"},
           .shape = text_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kPrints,
           .cpu_only = true});
  ops.add({.name = "Timestamp",
           .doc = "Seconds since 1970.",
           .outputs = {"ts: double"},
           .shape = scalar_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true});
}

void define_debug(OpRegistry& ops) {
  // Whoever checks the same values ends the step alike, so each device may.
  with_sharding(ops, add_debug_ops, {{"Assert", "-, .* ->"}}, "once: it is seen or heard once");
}

Value assert_true(Value condition, const std::vector<Value>& data, int summarize, std::string_view name) {
  if (!condition.valid()) return {};
  std::vector<Value> inputs = {condition};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return condition.graph().add("Assert", std::move(inputs), {{"summarize", summarize}}, name);
}

Value print(Value x, const std::vector<Value>& data, const PrintOptions& options, std::string_view name) {
  if (!x.valid()) return {};
  std::vector<Value> inputs = {x};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return x.graph().add("Print", std::move(inputs),
                       {{"message", options.message}, {"first_n", options.first_n}, {"summarize", options.summarize}},
                       name);
}

Value print_text(Value text, std::string_view output_stream, std::string_view name) {
  if (!text.valid()) return {};
  return text.graph().add("PrintV2", {text}, {{"output_stream", std::string(output_stream)}}, name);
}

Value timestamp(Graph& graph, std::string_view name) { return graph.add("Timestamp", {}, {}, name); }

}  // namespace argosy
