#include "argosy/ops/control_flow/functional.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/control_flow/function_differentiation.h"

namespace argosy {

namespace {

// Shapes that the node was given; nothing is known of the outputs otherwise.
Status given_shapes(ShapeContext& c) {
  for (const char* name : {"output_shapes", "_output_shapes"}) {
    const auto* shapes = c.attrs().find_as<std::vector<PartialShape>>(name);
    if (shapes == nullptr || shapes->empty()) continue;
    if (static_cast<int>(shapes->size()) != c.num_outputs()) {
      return invalid_argument(c.op().name, ": ", name, " has ", shapes->size(), " shapes for ", c.num_outputs(),
                              " outputs");
    }
    for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, (*shapes)[i]);
    break;
  }
  return ok_status();
}

Status while_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(given_shapes(c));
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.output(i).compatible(c.input(i))) {
      return invalid_argument(c.op().name, ": value ", i, " starts as ", c.input(i), " and cannot be ", c.output(i));
    }
    if (const HandleFact* fact = c.handle(i)) c.set_handle(i, *fact);
  }
  return ok_status();
}

Status for_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (const HandleFact* fact = c.handle(i + 3)) c.set_handle(i, *fact);
  }
  return given_shapes(c);
}

Status for_steps_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return scalar_output(c);
}

Status case_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return given_shapes(c);
}

Status remote_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return given_shapes(c);
}

Status to_bool_shape(ShapeContext& c) { return scalar_output(c); }

}  // namespace

void define_functional(OpRegistry& ops) {
  for (const bool stateful : {true, false}) {
    const std::string prefix = stateful ? "" : "Stateless";
    const std::vector<std::string> types = {"Tin: list(type) >= 0", "Tout: list(type) >= 0"};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), types.begin(), types.end());
      return more;
    };
    ops.add(
        {.name = prefix + "If",
         .doc = "then_branch(input) or else_branch(input).",
         .inputs = {"cond: Tcond", "input: Tin"},
         .outputs = {"output: Tout"},
         .attrs = with({"Tcond: type", "then_branch: func", "else_branch: func", "output_shapes: list(shape) = []"}),
         .shape = given_shapes,
         .gradient = if_gradient,
         .cost = free_cost,
         .stateful = stateful,
         .calls = Calls::kIf,
         .host_inputs = {0}});
    ops.add({.name = prefix + "Case",
             .doc = "branches[branch_index](input); the last one when there is none of that number.",
             .inputs = {"branch_index: int32", "input: Tin"},
             .outputs = {"output: Tout"},
             .attrs = with({"branches: list(func) >= 1", "output_shapes: list(shape) = []"}),
             .shape = case_shape,
             .gradient = case_gradient,
             .cost = free_cost,
             .stateful = stateful,
             .calls = Calls::kCase,
             .host_inputs = {0}});
    ops.add({.name = prefix + "While",
             .doc = "body(body(… input)), while cond() of it is true.",
             .inputs = {"input: T"},
             .outputs = {"output: T"},
             .attrs = {"T: list(type) >= 0", "cond: func", "body: func", "output_shapes: list(shape) = []",
                       "parallel_iterations: int = 10"},
             .shape = while_shape,
             .gradient = while_gradient,
             .cost = free_cost,
             .stateful = stateful,
             .calls = Calls::kWhile});
    ops.add(
        {.name = stateful ? "StatefulPartitionedCall" : "PartitionedCall",
         .doc = "f(args)",
         .inputs = {"args: Tin"},
         .outputs = {"output: Tout"},
         .attrs = with({"f: func", "config: string = ''", "config_proto: string = ''", "executor_type: string = ''"}),
         .shape = given_shapes,
         .gradient = call_gradient,
         .cost = free_cost,
         .stateful = stateful,
         .calls = Calls::kCall});
  }
  ops.add({.name = "RemoteCall",
           .doc = "f(args), on the device that target names.",
           .inputs = {"target: string", "args: Tin"},
           .outputs = {"output: Tout"},
           .attrs = {"Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"},
           .shape = remote_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .calls = Calls::kCallOn,
           .host_inputs = {0}});
  // TensorFlow gathers the arguments of calls that come at about one time, and pads them. Each call gets its own rows back.
  ops.add({.name = "BatchFunction",
           .doc = "f(in_tensors, captured_tensors), in a batch of its own.",
           .inputs = {"in_tensors: Tin", "captured_tensors: Tcaptured"},
           .outputs = {"out_tensors: Tout"},
           .attrs = {"f: func", "num_batch_threads: int", "max_batch_size: int", "batch_timeout_micros: int",
                     "max_enqueued_batches: int = 10", "allowed_batch_sizes: list(int) = []", "container: string = ''",
                     "shared_name: string = ''", "batching_queue: string = ''", "low_priority_max_batch_size: int = 0",
                     "low_priority_batch_timeout_micros: int = 0", "low_priority_allowed_batch_sizes: list(int) = []",
                     "low_priority_max_enqueued_batches: int = 0",
                     "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
                     "'low_priority_padding_with_"
                     "next_allowed_batch_size', 'priority_isolation', 'priority_merge'} = "
                     "'low_priority_padding_with_max_batch_size'",
                     "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'",
                     "Tin: list(type) >= 1", "Tcaptured: list(type) >= 0", "Tout: list(type) >= 1",
                     "enable_large_batch_splitting: bool = false"},
           .shape = given_shapes,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .calls = Calls::kCall});
  ops.add({.name = "DeviceIndex",
           .doc = "Which of these types of device it runs on; their number: none of them.",
           .outputs = {"index: int32"},
           .attrs = {"device_names: list(string)"},
           .shape = scalar_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kNothing,
           .sharding = "whole: every device goes the same way"});
  // A loop of kind kWhile without "cond": it counts (passes/functions/lower_functions.h). TensorFlow gives it no gradient either.
  ops.add({.name = "For",
           .doc = "body(i, body(… input)), for i from start to limit, which is left out, by delta.",
           .inputs = {"start: int32", "limit: int32", "delta: int32", "input: T"},
           .outputs = {"output: T"},
           .attrs = {"T: list(type) >= 0", "body: func"},
           .shape = for_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .calls = Calls::kWhile,
           .host_inputs = {0, 1, 2}});
  ops.add({.name = "_ForSteps",
           .doc = "How often the body of a For runs; and 1.",
           .inputs = {"start: int32", "limit: int32", "delta: int32"},
           .outputs = {"steps: int64", "one: int64"},
           .shape = for_steps_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .blocks_gradient = true,
           .host_inputs = {0, 1, 2}});
  ops.add({.name = "ToBool",
           .doc = "Is the scalar neither zero nor empty text; has the tensor elements?",
           .inputs = {"input: T"},
           .outputs = {"output: bool"},
           .attrs = {"T: type"},
           .shape = to_bool_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .blocks_gradient = true,
           .sharding = "whole: one truth value",
           .host_inputs = {0},
           .host_outputs = {0}});
}

}  // namespace argosy
