#include "argosy/ops/control_flow/control_flow.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/function_differentiation.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status switch_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  c.set_all_outputs(c.input(0));
  return ok_status();
}

// The output's shape is what all inputs have in common. An input that is not connected yet (a loop's NextIteration) may
// have any shape.
Status merge_shape(ShapeContext& c) {
  c.set_output(1, PartialShape::scalar());
  if (c.num_inputs() == 0 || c.num_inputs() < c.attrs().get_int("N")) return ok_status();
  PartialShape common = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape& other = c.input(i);
    if (!common.has_rank() || !other.has_rank() || common.rank() != other.rank()) return ok_status();
    std::vector<std::int64_t> sizes = common.sizes();
    for (int axis = 0; axis < other.rank(); ++axis) {
      if (sizes[axis] != other[axis]) sizes[axis] = PartialShape::kUnknown;
    }
    common = PartialShape(std::move(sizes));
  }
  c.set_output(0, std::move(common));
  return ok_status();
}

Status loop_cond_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

// The gradient is that of the branch that ran. A branch without a gradient gives zeros, which are dead unless it ran.
std::vector<Value> switch_gradient(GradContext& g) { return {merge({g.dy(0), g.dy(1)}), Value()}; }

// dy goes back to the input that the value came from. Conditionals merge two inputs; more (Case) are taken off one by
// one.
std::vector<Value> merge_gradient(GradContext& g) {
  Graph& graph = g.graph();
  std::vector<Value> dxs;
  Value rest = g.dy();
  for (std::int32_t i = 0; i + 1 < g.num_inputs(); ++i) {
    const Value later = graph.add("Greater", {g.y(1), constant(graph, i)});
    const auto [here, beyond] = switch_value(rest, later);
    dxs.push_back(here);
    rest = beyond;
  }
  dxs.push_back(rest);
  return dxs;
}

Status enter_shape(ShapeContext& c) {
  if (c.attrs().get_string("frame_name").empty()) return invalid_argument(c.op().name, ": the frame has no name");
  return same_as_input(c);
}

// Both the plain and the reference form of a primitive: "Switch" and "RefSwitch".
void add_both(OpRegistry& ops, OpSpec spec) {
  OpSpec ref = spec;
  ref.name = "Ref" + spec.name;
  const auto as_ref = [](std::vector<std::string>& args) {
    for (std::string& arg : args) {
      const std::size_t type = arg.find(": ") + 2;
      const std::string what = arg.substr(type);
      if (what == "T" || what == "N * T") arg = arg.substr(0, type) + "Ref(" + what + ")";
    }
  };
  as_ref(ref.inputs);
  as_ref(ref.outputs);
  ref.gradient = kNotDifferentiable;
  ref.accepts_uninitialized = true;
  ops.add(std::move(spec));
  ops.add(std::move(ref));
}

void define_branches(OpRegistry& ops) {
  add_both(ops, {.name = "Switch",
                 .doc = "data, at the output that pred names; the other is dead.",
                 .inputs = {"data: T", "pred: bool"},
                 .outputs = {"output_false: T", "output_true: T"},
                 .attrs = {"T: type"},
                 .shape = switch_shape,
                 .gradient = switch_gradient,
                 .cost = free_cost,
                 .flow = Flow::kSwitch,
                 .sharding = "i.., . -> i.., i..; linear 0; monotone 0",
                 .host_inputs = {1}});
  add_both(ops, {.name = "Merge",
                 .doc = "The first input that is there, and which it was.",
                 .inputs = {"inputs: N * T"},
                 .outputs = {"output: T", "value_index: int32"},
                 .attrs = {"T: type", "N: int >= 1"},
                 .shape = merge_shape,
                 .gradient = merge_gradient,
                 .cost = free_cost,
                 .flow = Flow::kMerge,
                 .sharding = "i.. * -> i.., =; linear 0",
                 .host_outputs = {1}});
}

void define_loops(OpRegistry& ops) {
  add_both(ops,
           {.name = "Enter",
            .doc = "data, inside the frame of this name.",
            .inputs = {"data: T"},
            .outputs = {"output: T"},
            .attrs = {"T: type", "frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10"},
            .shape = enter_shape,
            .gradient = kNotDifferentiable,
            .cost = free_cost,
            .forwards = true,
            .flow = Flow::kEnter,
            .sharding = "i.. -> i..; linear 0; monotone 0"});
  const auto one_to_one = [&](const char* name, const char* doc, Flow flow) {
    add_both(ops, {.name = name,
                   .doc = doc,
                   .inputs = {"data: T"},
                   .outputs = {"output: T"},
                   .attrs = {"T: type"},
                   .shape = same_as_input,
                   .gradient = kNotDifferentiable,
                   .cost = free_cost,
                   .forwards = true,
                   .closes_loop = flow == Flow::kNextIteration,
                   .flow = flow,
                   .sharding = "i.. -> i..; linear 0; monotone 0"});
  };
  one_to_one("Exit", "data, out of its frame.", Flow::kExit);
  one_to_one("NextIteration", "data, in the next iteration of its frame.", Flow::kNextIteration);
  ops.add({.name = "LoopCond",
           .doc = "Whether its loop goes on.",
           .inputs = {"input: bool"},
           .outputs = {"output: bool"},
           .shape = loop_cond_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .forwards = true,
           .flow = Flow::kLoopCond,
           .sharding = "whole: every device goes the same way",
           .host_inputs = {0},
           .host_outputs = {0}});
}

}  // namespace

static void add_control_flow_ops(OpRegistry& ops) {
  define_branches(ops);
  define_loops(ops);
  define_functional(ops);
  ops.add({.name = "ControlTrigger",
           .doc = "Nothing; runs even when what it waits for is dead.",
           .shape = no_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .flow = Flow::kControlTrigger,
           .sharding = "->"});
  ops.add({.name = "Abort",
           .doc = "Ends the step with an error. (TensorFlow ends the process.)",
           .attrs = {"error_msg: string = ''", "exit_without_error: bool = false"},
           .shape = no_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .sharding = "once: it ends the process"});
}

void define_control_flow(OpRegistry& ops) {
  with_sharding(ops, add_control_flow_ops, {}, "whole: its functions are put in its place before it is sharded");
}

std::pair<Value, Value> switch_value(Value data, Value pred, std::string_view name) {
  if (!data.valid()) return {};
  const Value y = data.graph().add("Switch", {data, pred}, {}, name);
  return {y.output(0), y.output(1)};
}

Value merge(const std::vector<Value>& inputs, std::string_view name) {
  if (inputs.empty() || !inputs[0].valid()) return {};
  return inputs[0].graph().add("Merge", inputs, {}, name);
}

}  // namespace argosy
