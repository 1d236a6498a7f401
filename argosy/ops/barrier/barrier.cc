#include "argosy/ops/barrier/barrier.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status insert_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape keys, c.with_rank(1, 1));
  const PartialShape& values = c.input(2);
  if (!values.has_rank()) return ok_status();
  if (values.rank() == 0)
    return invalid_argument(c.op().name, ": values must have a row for each key, not be a scalar");
  if (keys[0] < 0 || values[0] < 0 || keys[0] == values[0]) return ok_status();
  return invalid_argument(c.op().name, ": ", keys[0], " keys for values of shape ", values);
}

Status take_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  for (const int i : {0, 1}) c.set_output(i, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

Status size_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return scalar_output(c);
}

}  // namespace

static void add_barrier_ops(OpRegistry& ops) {
  ops.add({.name = "Barrier",
           .doc = "Elements whose components come one by one.",
           .outputs = {"handle: Ref(string)"},
           .attrs = {"component_types: list(type) >= 1", "shapes: list(shape) >= 0 = []", "capacity: int = -1",
                     "container: string = ''", "shared_name: string = ''"},
           .shape = ref_handle_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true});
  const auto add = [&](OpSpec spec) {
    spec.inputs.emplace(spec.inputs.begin(), "handle: Ref(string)");
    spec.gradient = kNotDifferentiable;
    spec.cost = free_cost;
    spec.cpu_only = true;
    spec.accepts_uninitialized = true;
    ops.add(std::move(spec));
  };
  add({.name = "BarrierInsertMany",
       .doc = "One component of the elements of some keys.",
       .inputs = {"keys: string", "values: T"},
       .attrs = {"T: type", "component_index: int"},
       .shape = insert_shape,
       .gradient = kNotDifferentiable});
  add({.name = "BarrierTakeMany",
       .doc = "Whole elements, as rows.",
       .inputs = {"num_elements: int32"},
       .outputs = {"indices: int64", "keys: string", "values: component_types"},
       .attrs = {"component_types: list(type) >= 1", "allow_small_batch: bool = false",
                 "wait_for_incomplete: bool = false", "timeout_ms: int = -1"},
       .shape = take_shape,
       .gradient = kNotDifferentiable,
       .async = true});
  add({.name = "BarrierClose",
       .doc = "Lets no more keys in.",
       .attrs = {"cancel_pending_enqueues: bool = false"},
       .shape = check_ref_handle,
       .gradient = kNotDifferentiable});
  for (const bool ready : {true, false}) {
    add({.name = ready ? "BarrierReadySize" : "BarrierIncompleteSize",
         .doc = ready ? "How many elements are whole." : "How many elements are not.",
         .outputs = {"size: int32"},
         .shape = size_shape,
         .gradient = kNotDifferentiable});
  }
}

void define_barrier(OpRegistry& ops) {
  with_sharding(ops, add_barrier_ops, {}, "once: the elements of a barrier are in one place");
}

Value barrier(Graph& graph, const BarrierSpec& spec, std::string_view name) {
  return graph.add("Barrier", {},
                   {{"component_types", spec.dtypes}, {"shapes", spec.shapes}, {"shared_name", spec.shared_name}},
                   name);
}

Value barrier_insert_many(Value barrier, int component, Value keys, Value rows) {
  if (!barrier.valid()) return barrier;
  return barrier.graph().add("BarrierInsertMany", {barrier, keys, rows}, {{"component_index", component}}).control();
}

BarrierElements barrier_take_many(Value barrier, Value count, const std::vector<DType>& dtypes,
                                  bool allow_small_batch) {
  if (!barrier.valid()) return {};
  const Value first = barrier.graph().add("BarrierTakeMany", {barrier, count},
                                          {{"component_types", dtypes}, {"allow_small_batch", allow_small_batch}});
  BarrierElements elements{first, first.valid() ? first.output(1) : first};
  for (std::size_t i = 0; first.valid() && i < dtypes.size(); ++i) {
    elements.components.push_back(first.output(static_cast<int>(i) + 2));
  }
  return elements;
}

Value close_barrier(Value barrier, bool cancel_pending) {
  if (!barrier.valid()) return barrier;
  return barrier.graph().add("BarrierClose", {barrier}, {{"cancel_pending_enqueues", cancel_pending}}).control();
}
Value barrier_ready_size(Value barrier) {
  return barrier.valid() ? barrier.graph().add("BarrierReadySize", {barrier}) : barrier;
}
Value barrier_incomplete_size(Value barrier) {
  return barrier.valid() ? barrier.graph().add("BarrierIncompleteSize", {barrier}) : barrier;
}

}  // namespace argosy
