#include "argosy/ops/accumulator/accumulator.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

// A handle by reference is a vector of two strings: container and name.
Status old_handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{2});
  return ok_status();
}

Status count_shape(ShapeContext& c) { return scalar_output(c); }

Status apply_shape(ShapeContext& c) { return c.with_rank(1, 0).status(); }

Status take_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  return unknown_output(c);
}

// --- definitions -----------------------------------------------------------------------------------------------------

struct Row {
  std::string name;
  const char* doc;
  std::vector<std::string> inputs, outputs;  // behind the handle
  std::vector<std::string> attrs;
  ShapeFn shape;
  bool async = false;
};

void add(OpRegistry& ops, const Row& row, bool resource) {
  std::vector<std::string> inputs = {resource ? "handle: resource" : "handle: Ref(string)"};
  inputs.insert(inputs.end(), row.inputs.begin(), row.inputs.end());
  ops.add({.name = (resource ? "Resource" : "") + row.name,
           .doc = row.doc,
           .inputs = std::move(inputs),
           .outputs = row.outputs,
           .attrs = row.attrs,
           .shape = row.shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = resource,
           .cpu_only = true,
           .accepts_uninitialized = !resource,
           .async = row.async});
}

}  // namespace

void define_accumulator(OpRegistry& ops) {
  const std::string dtype = "dtype: number";
  for (const char* name :
       {"ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator"}) {
    const bool resource = name[0] == 'R';
    ops.add({.name = name,
             .doc = "Adds up gradients until they are taken.",
             .outputs = {resource ? "handle: resource" : "handle: Ref(string)"},
             .attrs = {dtype, "shape: shape", "container: string = ''", "shared_name: string = ''",
                       "reduction_type: {'MEAN', 'SUM'} = 'MEAN'"},
             .shape = resource ? scalar_output : old_handle_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .cpu_only = true});
  }
  const Row rows[] = {
      {"AccumulatorApplyGradient",
       "Adds a gradient, unless it is older than the accumulator's step.",
       {"local_step: int64", "gradient: dtype"},
       {},
       {dtype},
       apply_shape},
      {"AccumulatorTakeGradient",
       "Waits for so many gradients, and takes their mean or sum.",
       {"num_required: int32"},
       {"average: dtype"},
       {dtype},
       take_shape,
       true},
      {"AccumulatorNumAccumulated", "How many gradients there are.", {}, {"num_accumulated: int32"}, {}, count_shape},
      {"AccumulatorSetGlobalStep", "Sets the accumulator's step.", {"new_global_step: int64"}, {}, {}, apply_shape},
  };
  for (const Row& row : rows) {
    add(ops, row, false);
    add(ops, row, true);
  }
  add(ops,
      {"SparseAccumulatorApplyGradient",
       "Adds rows of a gradient, unless they are older than the accumulator's step.",
       {"local_step: int64", "gradient_indices: int64", "gradient_values: dtype", "gradient_shape: int64"},
       {},
       {dtype, "has_known_shape: bool"},
       apply_shape},
      false);
  add(ops,
      {"SparseAccumulatorTakeGradient",
       "Waits for so many gradients, and takes the mean or sum of every row.",
       {"num_required: int32"},
       {"indices: int64", "values: dtype", "shape: int64"},
       {dtype},
       take_shape,
       true},
      false);
}

namespace {

Value make_accumulator(Graph& graph, const char* op, const AccumulatorSpec& spec, std::string_view name) {
  return graph.add(op, {},
                   {{"dtype", spec.dtype},
                    {"shape", spec.shape},
                    {"shared_name", spec.shared_name},
                    {"reduction_type", spec.sum ? "SUM" : "MEAN"}},
                   name);
}

std::string for_handle(Value handle, const char* op) {
  return (handle.dtype() == DType::kResource ? "Resource" : "") + std::string(op);
}

}  // namespace

Value accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name) {
  return make_accumulator(graph, "ResourceConditionalAccumulator", spec, name);
}
Value sparse_accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name) {
  return make_accumulator(graph, "SparseConditionalAccumulator", spec, name);
}
Value accumulator_apply(Value accumulator, Value local_step, Value gradient) {
  if (!accumulator.valid()) return {};
  return accumulator.graph()
      .add(for_handle(accumulator, "AccumulatorApplyGradient"), {accumulator, local_step, gradient})
      .control();
}
Value accumulator_take(Value accumulator, Value num_required, DType dtype) {
  if (!accumulator.valid()) return {};
  return accumulator.graph().add(for_handle(accumulator, "AccumulatorTakeGradient"), {accumulator, num_required},
                                 {{"dtype", dtype}});
}
Value accumulator_count(Value accumulator) {
  if (!accumulator.valid()) return {};
  return accumulator.graph().add(for_handle(accumulator, "AccumulatorNumAccumulated"), {accumulator});
}
Value accumulator_set_step(Value accumulator, Value step) {
  if (!accumulator.valid()) return {};
  return accumulator.graph().add(for_handle(accumulator, "AccumulatorSetGlobalStep"), {accumulator, step}).control();
}

}  // namespace argosy
