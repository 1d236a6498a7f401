#include "argosy/ops/state/state.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/gather/gather_sharding.h"
#include "argosy/ops/sharding_parts.h"
#include "argosy/ops/state/state_sharding.h"
#include "argosy/ops/state/variable_scatter.h"

namespace argosy {

namespace {

Status variable_shape(ShapeContext& c) {
  c.set_output(0, c.attrs().get<PartialShape>("shape"));
  return ok_status();
}

// The first op of this name could not say "unknown": a scalar shape stood for it.
Status old_variable_shape(ShapeContext& c) {
  const auto& shape = c.attrs().get<PartialShape>("shape");
  if (shape.rank() > 0) c.set_output(0, shape);
  return ok_status();
}

Status handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  c.set_handle(0, {c.attrs().get_type("dtype"), c.attrs().get<PartialShape>("shape")});
  return ok_status();
}

Status assign_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  if (!c.attrs().get_bool("validate_shape")) return ok_status();
  Result<PartialShape> both = c.input(0).merge(c.input(1));
  if (!both.ok()) {
    return invalid_argument("Assign requires shapes of both tensors to match. lhs shape= ", c.input(0),
                            " rhs shape= ", c.input(1))
        .with_id("ARG-SHAPE-005");
  }
  c.set_output(0, *std::move(both));
  return ok_status();
}

Status assign_update_shape(ShapeContext& c) {
  Result<PartialShape> both = c.input(0).merge(c.input(1));
  if (!both.ok()) {
    return invalid_argument("Parameters and update must be the same size: a variable of shape ", c.input(0),
                            " cannot be updated by ", c.input(1))
        .with_id("ARG-SHAPE-006");
  }
  c.set_output(0, *std::move(both));
  return ok_status();
}

Status handle_is_scalar(ShapeContext& c) { return c.with_rank(0, 0).status(); }

Status check_handle_dtype(const ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const HandleFact* variable = c.handle(0);
  const DType dtype = c.attrs().get_type("dtype");
  if (variable == nullptr || variable->dtype == dtype) return ok_status();
  return invalid_argument(c.op().name, ": a variable of ", dtype_name(variable->dtype), " is not one of ",
                          dtype_name(dtype))
      .with_id("ARG-DTYPE-003");
}

Status read_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handle_dtype(c));
  if (const HandleFact* variable = c.handle(0)) c.set_output(0, variable->shape);
  return ok_status();
}

Status assign_handle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handle_dtype(c));
  const HandleFact* variable = c.handle(0);
  return variable == nullptr ? ok_status() : variable->shape.merge(c.input(1)).status();
}

// Without validate_shape the value may have any shape: TensorFlow's kernel asks for the dtype alone.
Status assign_any_shape(ShapeContext& c) {
  return c.attrs().get_bool("validate_shape") ? assign_handle_shape(c) : check_handle_dtype(c);
}

Status ref_to_handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  c.set_handle(0, {c.attrs().get_type("T"), c.input(0)});
  return ok_status();
}

Status handle_to_ref_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  if (const HandleFact* variable = c.handle(0)) c.set_output(0, variable->shape);
  return ok_status();
}

// The shape that all variables have.
Status ref_select_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const PartialShape& first = c.input(1);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!c.input(i).is_full() || !(c.input(i) == first)) return ok_status();
  }
  c.set_output(0, first);
  return ok_status();
}

Status is_initialized_shape(ShapeContext& c) { return scalar_output(c); }

Status shape_of_variable_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_is_scalar(c));
  const HandleFact* variable = c.handle(0);
  const bool ranked = variable != nullptr && variable->shape.has_rank();
  c.set_output(0, PartialShape{ranked ? variable->shape.rank() : PartialShape::kUnknown});
  return ok_status();
}

std::optional<PartialInts> shape_of_variable_ints(const ShapeContext& c, int) {
  const HandleFact* variable = c.handle(0);
  if (variable == nullptr || !variable->shape.has_rank()) return std::nullopt;
  PartialInts sizes;
  for (const std::int64_t size : variable->shape.sizes()) {
    sizes.push_back(size < 0 ? std::nullopt : std::optional(size));
  }
  return sizes;
}

Status count_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

std::vector<Value> pass_back(GradContext& g) { return {g.has_dy(0) ? g.dy() : Value()}; }

void define_reference(OpRegistry& ops) {
  for (const char* name : {"VariableV2", "Variable"}) {
    ops.add({.name = name,
             .doc = "A variable, by reference.",
             .outputs = {"ref: Ref(dtype)"},
             .attrs = {"shape: shape", "dtype: type", "container: string = ''", "shared_name: string = ''"},
             .shape = name[8] == 'V' ? variable_shape : old_variable_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true});
  }
  ops.add({.name = "TemporaryVariable",
           .doc = "A variable of this step alone.",
           .outputs = {"ref: Ref(dtype)"},
           .attrs = {"shape: shape", "dtype: type", "var_name: string = ''"},
           .shape = variable_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .sharding = "whole: a variable of one step"});
  ops.add({.name = "DestroyTemporaryVariable",
           .doc = "The last value of a temporary variable.",
           .inputs = {"ref: Ref(T)"},
           .outputs = {"value: T"},
           .attrs = {"T: type", "var_name: string"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .sharding = "whole: a variable of one step"});
  for (const char* name : {"RefIdentity", "DebugGradientRefIdentity"}) {
    ops.add({.name = name,
             .doc = "The same reference.",
             .inputs = {"input: Ref(T)"},
             .outputs = {"output: Ref(T)"},
             .attrs = {"T: type"},
             .shape = same_as_input,
             .gradient = pass_back,
             .cost = free_cost,
             .accepts_uninitialized = true,
             .forwards = true,
             .sharding = "i.. -> i.."});
  }
  ops.add({.name = "RefSelect",
           .doc = "The reference that index names.",
           .inputs = {"index: int32", "inputs: Ref(N * T)"},
           .outputs = {"output: Ref(T)"},
           .attrs = {"T: type", "N: int >= 1"},
           .shape = ref_select_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .sharding = "whole: which variable it names is known when it runs",
           .host_inputs = {0}});
  // How references travel into function bodies.
  ops.add({.name = "_RefToHandle",
           .doc = "The handle that a reference is.",
           .inputs = {"ref: Ref(T)"},
           .outputs = {"handle: resource"},
           .attrs = {"T: type"},
           .shape = ref_to_handle_shape,
           .gradient = pass_back,
           .cost = free_cost,
           .accepts_uninitialized = true,
           .forwards = true,
           .sharding = "i.. -> ."});
  ops.add({.name = "_HandleToRef",
           .doc = "The reference that a handle is.",
           .inputs = {"handle: resource"},
           .outputs = {"ref: Ref(T)"},
           .attrs = {"T: type"},
           .shape = handle_to_ref_shape,
           .gradient = pass_back,
           .cost = free_cost,
           .forwards = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "Assign",
           .doc = "ref = value",
           .inputs = {"ref: Ref(T)", "value: T"},
           .outputs = {"output_ref: Ref(T)"},
           .attrs = {"T: type", "validate_shape: bool = true", "use_locking: bool = true"},
           .shape = assign_shape,
           .gradient = kNotDifferentiable,
           .accepts_uninitialized = true,
           .sharding_rule = assign_sharding});
  ops.add({.name = "_ReadAgain",
           .doc = "What a variable holds now, in the shape of an earlier read. The earlier value, if the variable has "
                  "another number of elements now: TensorFlow gives it new memory then.",
           .inputs = {"value: T", "now: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .sharding = "whole: it compares sizes"});
  for (const char* name : {"AssignAdd", "AssignSub"}) {
    ops.add({.name = name,
             .doc = name[6] == 'A' ? "ref += value" : "ref -= value",
             .inputs = {"ref: Ref(T)", "value: T"},
             .outputs = {"output_ref: Ref(T)"},
             .attrs = {"T: number", "use_locking: bool = false"},
             .shape = assign_update_shape,
             .gradient = kNotDifferentiable,
             .opcode = name[6] == 'A' ? Opcode::kAssignAdd : Opcode::kAssignSubtract});
  }
  ops.add({.name = "IsVariableInitialized",
           .doc = "Does it have a value?",
           .inputs = {"ref: Ref(dtype)"},
           .outputs = {"is_initialized: bool"},
           .attrs = {"dtype: type"},
           .shape = is_initialized_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .effect = Effect::kReads,
           .accepts_uninitialized = true,
           .blocks_gradient = true,
           .sharding = "shape -> =",
           .host_outputs = {0}});
  ops.add({.name = "CountUpTo",
           .doc = "ref, which is then one more; an error at the limit.",
           .inputs = {"ref: Ref(T)"},
           .outputs = {"output: T"},
           .attrs = {"limit: int", "T: index"},
           .shape = count_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .cpu_only = true,
           .sharding = "- -> -; updates 0"});
}

void define_resource(OpRegistry& ops) {
  ops.add({.name = "VarHandleOp",
           .doc = "A variable, by handle.",
           .outputs = {"resource: resource"},
           .attrs = {"container: string = ''", "shared_name: string = ''", "debug_name: string = ''", "dtype: type",
                     "shape: shape", "allowed_devices: list(string) = []"},
           .shape = handle_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .sharding = "-> ."});
  ops.add({.name = "ReadVariableOp",
           .doc = "The variable's value.",
           .inputs = {"resource: resource"},
           .outputs = {"value: dtype"},
           .attrs = {"dtype: type"},
           .shape = read_shape,
           .gradient = pass_back,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kReads,
           .forwards = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "AssignVariableOp",
           .doc = "resource = value",
           .inputs = {"resource: resource", "value: dtype"},
           .attrs = {"dtype: type", "validate_shape: bool = false"},
           .shape = assign_any_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .sharding_rule = assign_sharding});
  for (const char* name : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    ops.add({.name = name,
             .doc = name[6] == 'A' ? "resource += value" : "resource -= value",
             .inputs = {"resource: resource", "value: dtype"},
             .attrs = {"dtype: number"},
             .shape = assign_handle_shape,
             .gradient = kNotDifferentiable,
             .stateful = true});
  }
  ops.add({.name = "DisableCopyOnRead",
           .doc = "Reads need not copy: nothing to do, they never do here.",
           .inputs = {"resource: resource"},
           .outputs = {},
           .shape = no_output,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .sharding = "shape ->"});
  ops.add({.name = "VarIsInitializedOp",
           .doc = "Does it have a value?",
           .inputs = {"resource: resource"},
           .outputs = {"is_initialized: bool"},
           .shape = is_initialized_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .effect = Effect::kReads,
           .blocks_gradient = true,
           .sharding = "shape -> =",
           .host_outputs = {0}});
  ops.add({.name = "VariableShape",
           .doc = "The shape of the variable's value.",
           .inputs = {"input: resource"},
           .outputs = {"output: out_type"},
           .attrs = {"out_type: index = int32"},
           .shape = shape_of_variable_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = shape_of_variable_ints,
           .stateful = true,
           .effect = Effect::kReads,
           .blocks_gradient = true,
           .sharding = "shape -> 1",
           .host_outputs = {0}});
  ops.add({.name = "ResourceCountUpTo",
           .doc = "The variable, which is then one more; an error at the limit.",
           .inputs = {"resource: resource"},
           .outputs = {"output: T"},
           .attrs = {"limit: int", "T: index"},
           .shape = count_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .sharding = "- -> -; updates 0"});
  ops.add({.name = "DestroyResourceOp",
           .doc = "Ends what the handle refers to.",
           .inputs = {"resource: resource"},
           .attrs = {"ignore_lookup_error: bool = true"},
           .shape = handle_is_scalar,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .sharding = "shape ->"});
}

}  // namespace

static void add_state_ops(OpRegistry& ops) {
  define_reference(ops);
  define_resource(ops);
  state::define_scatter_and_gather(ops);
}

void define_state(OpRegistry& ops) {
  with_sharding(ops, add_state_ops,
                {{"VariableV2", "-> i.."},
                 {"Variable", "-> i.."},
                 {"AssignAdd", "i.., i.. -> i..; updates 0"},
                 {"AssignSub", "i.., i.. -> i..; updates 0"},
                 {"AssignAddVariableOp", "i.., i.. ->; updates 0"},
                 {"AssignSubVariableOp", "i.., i.. ->; updates 0"},
                 {"ScatterUpdate", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterUpdate", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterNdUpdate", {}, scatter_nd_into_sharding},
                 {"ResourceScatterNdUpdate", {}, scatter_nd_into_sharding},
                 {"ScatterAdd", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterAdd", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterNdAdd", {}, scatter_nd_into_sharding},
                 {"ResourceScatterNdAdd", {}, scatter_nd_into_sharding},
                 {"ScatterSub", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterSub", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterNdSub", {}, scatter_nd_into_sharding},
                 {"ResourceScatterNdSub", {}, scatter_nd_into_sharding},
                 {"ScatterMul", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterMul", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterDiv", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterDiv", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterMin", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterMin", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterNdMin", {}, scatter_nd_into_sharding},
                 {"ResourceScatterNdMin", {}, scatter_nd_into_sharding},
                 {"ScatterMax", "v d.., n.., n.. d.. -> v d..; rows v; whole n..; updates 0"},
                 {"ResourceScatterMax", "v d.., n.., n.. d.. ->; rows v; whole n..; updates 0"},
                 {"ScatterNdMax", {}, scatter_nd_into_sharding},
                 {"ResourceScatterNdMax", {}, scatter_nd_into_sharding}});
}

}  // namespace argosy
