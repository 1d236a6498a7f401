#include "argosy/ops/accumulator/accumulator.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

Status count_shape(ShapeContext& c) { return scalar_output(c); }

Status apply_shape(ShapeContext& c) { return c.with_rank(1, 0).status(); }

Status take_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  return unknown_output(c);
}

// --- definitions -----------------------------------------------------------------------------------------------------

// Adds an op in its form by resource, named "Resource…", or by reference.
void add(OpRegistry& ops, OpRow row, bool resource) {
  if (!resource) row = with_handles_as(std::move(row), "Ref(string)");
  if (resource) row.name = "Resource" + row.name;
  add_row(ops, std::move(row),
          {.cost = free_cost, .stateful = resource, .cpu_only = true, .accepts_uninitialized = !resource});
}

}  // namespace

static void add_accumulator_ops(OpRegistry& ops) {
  const std::string dtype = "dtype: number";
  for (const char* name :
       {"ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator"}) {
    const bool resource = name[0] == 'R';
    ops.add({.name = name,
             .doc = "Adds up gradients until they are taken.",
             .outputs = {resource ? "handle: resource" : "handle: Ref(string)"},
             .attrs = {dtype, "shape: shape", "container: string = ''", "shared_name: string = ''",
                       "reduction_type: {'MEAN', 'SUM'} = 'MEAN'"},
             .shape = resource ? scalar_output : ref_handle_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .cpu_only = true});
  }
  const OpRow rows[] = {
      {"AccumulatorApplyGradient",
       "Adds a gradient, unless it is older than the accumulator's step.",
       {"handle: resource", "local_step: int64", "gradient: dtype"},
       {},
       {dtype},
       apply_shape},
      {"AccumulatorTakeGradient",
       "Waits for so many gradients, and takes their mean or sum.",
       {"handle: resource", "num_required: int32"},
       {"average: dtype"},
       {dtype},
       take_shape,
       {.async = true}},
      {"AccumulatorNumAccumulated",
       "How many gradients there are.",
       {"handle: resource"},
       {"num_accumulated: int32"},
       {},
       count_shape},
      {"AccumulatorSetGlobalStep",
       "Sets the accumulator's step.",
       {"handle: resource", "new_global_step: int64"},
       {},
       {},
       apply_shape},
  };
  for (const OpRow& row : rows) {
    add(ops, row, false);
    add(ops, row, true);
  }
  add(ops,
      {"SparseAccumulatorApplyGradient",
       "Adds rows of a gradient, unless they are older than the accumulator's step.",
       {"handle: resource", "local_step: int64", "gradient_indices: int64", "gradient_values: dtype",
        "gradient_shape: int64"},
       {},
       {dtype, "has_known_shape: bool"},
       apply_shape},
      false);
  add(ops,
      {"SparseAccumulatorTakeGradient",
       "Waits for so many gradients, and takes the mean or sum of every row.",
       {"handle: resource", "num_required: int32"},
       {"indices: int64", "values: dtype", "shape: int64"},
       {dtype},
       take_shape,
       {.async = true}},
      false);
}

void define_accumulator(OpRegistry& ops) {
  with_sharding(ops, add_accumulator_ops, {}, "once: an accumulator is in one place");
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
