#include "argosy/ops/tensor_array/tensor_array.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

Status handle_only(ShapeContext& c) { return c.with_rank(0, 0).status(); }

Status stack_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  c.set_handle(0, {c.attrs().get_type("elem_type"), PartialShape::unknown()});
  return ok_status();
}

Status push_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  c.set_output(0, c.input(1));
  return ok_status();
}

Status pop_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  if (const HandleFact* stack = c.handle(0)) c.set_output(0, stack->shape);
  return ok_status();
}

Status array_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  c.set_output(0, PartialShape::scalar());
  c.set_output(1, PartialShape::scalar());
  c.set_handle(0, {c.attrs().get_type("dtype"), c.attrs().get<PartialShape>("element_shape")});
  return ok_status();
}

Status read_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  if (const HandleFact* array = c.handle(0)) c.set_output(0, array->shape);
  return ok_status();
}

Status flow_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

Status gather_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 1));
  const HandleFact* array = c.handle(0);
  ARGOSY_ASSIGN_OR_RETURN(
      const PartialShape element,
      c.attrs().get<PartialShape>("element_shape").merge(array != nullptr ? array->shape : PartialShape::unknown()));
  if (!element.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = element.sizes();
  sizes.insert(sizes.begin(), indices[0]);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status concat_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  const auto& rest = c.attrs().get<PartialShape>("element_shape_except0");
  if (rest.has_rank()) {
    std::vector<std::int64_t> sizes = rest.sizes();
    sizes.insert(sizes.begin(), PartialShape::kUnknown);
    c.set_output(0, PartialShape(std::move(sizes)));
  }
  c.set_output(1, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

Status grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  c.set_output(0, PartialShape::scalar());
  c.set_output(1, PartialShape::scalar());
  if (const HandleFact* array = c.handle(0)) c.set_handle(0, *array);
  return ok_status();
}

Status outer_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  c.set_output(0, PartialShape::scalar());
  c.set_output(1, PartialShape::scalar());
  return c.with_rank(2, 1).status();
}

// --- gradients: what is read is written to the gradient's array, and the other way round ----------------------------

// The array that takes the gradients of array x(0), after everything that `flow` stands for.
Value gradient_array(GradContext& g, Value flow) {
  return g.graph().add("TensorArrayGradV3", {g.x(0), flow}, {{"source", g.source()}});
}
std::vector<Value> read_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.x(2));
  const Value flow = g.graph().add("TensorArrayWriteV3", {array.output(0), g.x(1), g.dy(), array.output(1)});
  return {Value(), Value(), flow};
}
std::vector<Value> write_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.dy());
  const Value dx =
      g.graph().add("TensorArrayReadV3", {array.output(0), g.x(1), array.output(1)}, {{"dtype", g.x(2).dtype()}});
  return {Value(), Value(), dx, g.dy()};
}
std::vector<Value> gather_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.x(2));
  const Value flow = g.graph().add("TensorArrayScatterV3", {array.output(0), g.x(1), g.dy(), array.output(1)});
  return {Value(), Value(), flow};
}
std::vector<Value> scatter_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.dy());
  const Value dx =
      g.graph().add("TensorArrayGatherV3", {array.output(0), g.x(1), array.output(1)}, {{"dtype", g.x(2).dtype()}});
  return {Value(), Value(), dx, g.dy()};
}
std::vector<Value> concat_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.x(1));
  const Value flow = g.graph().add("TensorArraySplitV3", {array.output(0), g.dy(), g.y(1), array.output(1)});
  return {Value(), flow};
}
std::vector<Value> split_gradient(GradContext& g) {
  const Value array = gradient_array(g, g.dy());
  const Value dx =
      g.graph().add("TensorArrayConcatV3", {array.output(0), array.output(1)}, {{"dtype", g.x(1).dtype()}});
  return {Value(), dx, Value(), g.dy()};
}

// --- definitions -----------------------------------------------------------------------------------------------------

std::vector<OpRow> rows() {
  return {
      {"StackV2",
       "A stack of tensors.",
       {"max_size: int32"},
       {"handle: resource"},
       {"elem_type: type", "stack_name: string = ''"},
       stack_shape,
       {.blocks_gradient = true, .host_inputs = {0}}},
      {"StackPushV2",
       "elem, which is now on the stack.",
       {"handle: resource", "elem: T"},
       {"output: T"},
       {"T: type", "swap_memory: bool = false"},
       push_shape},
      {"StackPopV2",
       "What was pushed last, and is now gone.",
       {"handle: resource"},
       {"elem: elem_type"},
       {"elem_type: type"},
       pop_shape},
      {"StackCloseV2", "Empties the stack for good.", {"handle: resource"}, {}, {}, handle_only},
      {"TensorArrayV3",
       "An array of tensors, each written once.",
       {"size: int32"},
       {"handle: resource", "flow: float"},
       {"dtype: type", "element_shape: shape = unknown", "dynamic_size: bool = false", "clear_after_read: bool = true",
        "identical_element_shapes: bool = false", "tensor_array_name: string = ''"},
       array_shape,
       {.blocks_gradient = true, .host_inputs = {0}}},
      {"TensorArrayReadV3",
       "Element index.",
       {"handle: resource", "index: int32", "flow_in: float"},
       {"value: dtype"},
       {"dtype: type"},
       read_shape,
       {.gradient = read_gradient, .host_inputs = {1}}},
      {"TensorArrayWriteV3",
       "Element index = value.",
       {"handle: resource", "index: int32", "value: T", "flow_in: float"},
       {"flow_out: float"},
       {"T: type"},
       flow_shape,
       {.gradient = write_gradient, .host_inputs = {1}}},
      {"TensorArrayGatherV3",
       "Elements as rows.",
       {"handle: resource", "indices: int32", "flow_in: float"},
       {"value: dtype"},
       {"dtype: type", "element_shape: shape = unknown"},
       gather_shape,
       {.gradient = gather_gradient, .host_inputs = {1}}},
      {"TensorArrayScatterV3",
       "Elements = rows.",
       {"handle: resource", "indices: int32", "value: T", "flow_in: float"},
       {"flow_out: float"},
       {"T: type"},
       flow_shape,
       {.gradient = scatter_gradient, .host_inputs = {1}}},
      {"TensorArrayConcatV3",
       "All elements one after another along their first axis, and their lengths.",
       {"handle: resource", "flow_in: float"},
       {"value: dtype", "lengths: int64"},
       {"dtype: type", "element_shape_except0: shape = unknown"},
       concat_shape,
       {.gradient = concat_gradient, .host_outputs = {1}}},
      {"TensorArraySplitV3",
       "Elements = pieces of value of these lengths.",
       {"handle: resource", "value: T", "lengths: int64", "flow_in: float"},
       {"flow_out: float"},
       {"T: type"},
       flow_shape,
       {.gradient = split_gradient, .host_inputs = {2}}},
      {"TensorArraySizeV3",
       "How many elements it has.",
       {"handle: resource", "flow_in: float"},
       {"size: int32"},
       {},
       flow_shape,
       {.blocks_gradient = true}},
      {"TensorArrayGradV3",
       "The array of the same size that sums up gradients, one per source.",
       {"handle: resource", "flow_in: float"},
       {"grad_handle: resource", "flow_out: float"},
       {"source: string"},
       grad_shape,
       {.blocks_gradient = true}},
      {"TensorArrayGradWithShape",
       "The same, its elements being of the array's shapes with more sizes in front.",
       {"handle: resource", "flow_in: float", "shape_to_prepend: int32"},
       {"grad_handle: resource", "flow_out: float"},
       {"source: string"},
       outer_grad_shape,
       {.blocks_gradient = true, .host_inputs = {2}}},
      {"TensorArrayCloseV3", "Empties the array for good.", {"handle: resource"}, {}, {}, handle_only},
  };
}

// --- version 1, whose handles are references -------------------------------------------------------------------------

Status old_push_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return ok_status();
}

void define_old_stacks(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> more,
                       std::vector<std::string> outputs, std::vector<std::string> attrs, ShapeFn shape) {
    std::vector<std::string> inputs = {"handle: Ref(string)"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    ops.add({.name = name,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = std::move(outputs),
             .attrs = std::move(attrs),
             .shape = shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .accepts_uninitialized = true});
  };
  ops.add({.name = "Stack",
           .doc = "A stack of tensors; StackV2 by reference.",
           .outputs = {"handle: Ref(string)"},
           .attrs = {"elem_type: type", "stack_name: string = ''"},
           .shape = ref_handle_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true});
  add("StackPush", "elem, which is now on the stack.", {"elem: T"}, {"output: T"},
      {"T: type", "swap_memory: bool = false"}, old_push_shape);
  add("StackPop", "What was pushed last, and is now gone.", {}, {"elem: elem_type"}, {"elem_type: type"}, no_output);
  add("StackClose", "Empties the stack for good.", {}, {}, {}, no_output);
}

// The ops on arrays under their first names (version ""), whose handles are references, or second names ("V2"), whose
// handles are two strings, container and name: shapes are not told through either.
void define_old_arrays(OpRegistry& ops, std::string_view version) {
  const bool named = version == "V2";
  for (OpRow& row : rows()) {
    std::string name = row.name;
    if (!name.starts_with("TensorArray") || !name.ends_with("V3")) continue;
    name.resize(name.size() - 2);
    const bool makes = name == "TensorArray" || name == "TensorArrayGrad";
    name += version;
    const std::string doc = str_cat(row.doc, " ", row.name, named ? " by name." : " by reference.");
    row = with_handles_as(std::move(row), named ? "string" : "Ref(string)");
    if (makes) row.outputs.resize(1);
    std::erase(row.attrs, "identical_element_shapes: bool = false");
    add_row(ops, {.name = name,
                  .doc = doc,
                  .inputs = std::move(row.inputs),
                  .outputs = std::move(row.outputs),
                  .attrs = std::move(row.attrs),
                  .shape = makes ? ref_handle_shape : no_output,
                  .facts = {.cost = free_cost,
                            .stateful = makes,
                            .step_state = true,
                            .accepts_uninitialized = !named,
                            .host_inputs = std::move(row.facts.host_inputs),
                            .host_outputs = std::move(row.facts.host_outputs)}});
  }
}

}  // namespace

static void add_tensor_array_ops(OpRegistry& ops) {
  define_old_stacks(ops);
  define_old_arrays(ops, "");
  define_old_arrays(ops, "V2");
  for (OpRow& row : rows()) {
    add_row(ops, std::move(row), {.cost = free_cost, .stateful = true, .step_state = true});
  }
}

void define_tensor_array(OpRegistry& ops) {
  // The handle stands for an element. What makes an array or stack has the layout of what is put in.
  with_sharding(ops, add_tensor_array_ops,
                {{"StackPushV2", "e.., e.. -> e.."},
                 {"StackPopV2", "e.. -> e.."},
                 {"StackCloseV2", "e.. ->"},
                 {"TensorArrayReadV3", "e.., -, - -> e.."},
                 {"TensorArrayWriteV3", "e.., -, e.., - -> -; equal e.."},
                 {"TensorArrayGatherV3", "e.., t, - -> t e..; whole t"},
                 {"TensorArrayScatterV3", "e.., t, t e.., - -> -; equal e..; whole t"},
                 {"TensorArrayConcatV3", "c e.., - -> k e.., =; whole c k"},
                 {"TensorArraySplitV3", "c e.., k e.., ., - -> -; equal e..; whole c k"},
                 {"TensorArraySizeV3", "e.., - -> -; equal e.."},
                 {"TensorArrayGradV3", "e.., - -> e.., -; equal e.."},
                 {"TensorArrayCloseV3", "e.. ->"}},
                "whole: what is in a container has one layout");
}

TensorArrayValue tensor_array(Value size, DType dtype, const TensorArrayOptions& options, std::string_view name) {
  if (!size.valid()) return {};
  const Value array = size.graph().add("TensorArrayV3", {size},
                                       {{"dtype", dtype},
                                        {"element_shape", options.element_shape},
                                        {"dynamic_size", options.dynamic_size},
                                        {"clear_after_read", options.clear_after_read},
                                        {"tensor_array_name", std::string(name)}},
                                       name);
  return {array.output(0), array.output(1), dtype};
}

TensorArrayValue tensor_array_write(const TensorArrayValue& array, Value index, Value value) {
  if (!array.handle.valid()) return {};
  Graph& graph = array.handle.graph();
  return {array.handle, graph.add("TensorArrayWriteV3", {array.handle, index, value, array.flow}), array.dtype};
}

Value tensor_array_read(const TensorArrayValue& array, Value index) {
  if (!array.handle.valid()) return {};
  return array.handle.graph().add("TensorArrayReadV3", {array.handle, index, array.flow}, {{"dtype", array.dtype}});
}

Value tensor_array_size(const TensorArrayValue& array) {
  if (!array.handle.valid()) return {};
  return array.handle.graph().add("TensorArraySizeV3", {array.handle, array.flow});
}

Value tensor_array_gather(const TensorArrayValue& array, Value indices) {
  if (!array.handle.valid()) return {};
  return array.handle.graph().add("TensorArrayGatherV3", {array.handle, indices, array.flow}, {{"dtype", array.dtype}});
}

TensorArrayValue tensor_array_scatter(const TensorArrayValue& array, Value indices, Value rows) {
  if (!array.handle.valid()) return {};
  Graph& graph = array.handle.graph();
  return {array.handle, graph.add("TensorArrayScatterV3", {array.handle, indices, rows, array.flow}), array.dtype};
}

}  // namespace argosy
