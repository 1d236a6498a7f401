#include "argosy/ops/state/variable_scatter.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather_sharding.h"

namespace argosy::state {

namespace {

// indices.shape + variable.shape[from:], as far as known.
PartialShape slices_shape(const PartialShape& indices, const PartialShape& variable, int from) {
  if (!indices.has_rank() || !variable.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> sizes = indices.sizes();
  for (int axis = from; axis < variable.rank(); ++axis) sizes.push_back(variable[axis]);
  return PartialShape(std::move(sizes));
}

Status check_updates(const ShapeContext& c, const PartialShape& variable) {
  if (variable.has_rank() && variable.rank() < 1) {
    return invalid_argument(c.op().name, ": the variable must have at least one axis, not shape ", variable);
  }
  if (c.input(2).rank() == 0) return ok_status();  // a scalar is broadcast
  if (slices_shape(c.input(1), variable, 1).compatible(c.input(2))) return ok_status();
  return invalid_argument("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ",
                          "updates.shape ", c.input(2), ", indices.shape ", c.input(1), ", params.shape ", variable)
      .with_id("ARG-SHAPE-007");
}

Status scatter_ref_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_updates(c, c.input(0)));
  c.set_output(0, c.input(0));
  return ok_status();
}

PartialShape variable_of(const ShapeContext& c) {
  return c.handle(0) != nullptr ? c.handle(0)->shape : PartialShape::unknown();
}

Status scatter_handle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return check_updates(c, variable_of(c));
}

// updates: indices.shape[:-1] + variable.shape[indices.shape[-1]:]
Status check_nd_updates(const ShapeContext& c, const PartialShape& variable) {
  const PartialShape& indices = c.input(1);
  if (!indices.has_rank()) return ok_status();
  if (indices.rank() < 1) return invalid_argument(c.op().name, ": indices must have at least one axis");
  const std::int64_t depth = indices.sizes().back();
  if (depth < 0 || !variable.has_rank()) return ok_status();
  if (depth > variable.rank()) {
    return invalid_argument(c.op().name, ": indices of ", depth, " numbers cannot name a slice of shape ", variable);
  }
  const PartialShape rows(std::vector<std::int64_t>(indices.sizes().begin(), indices.sizes().end() - 1));
  const PartialShape& updates = c.input(2);
  if (slices_shape(rows, variable, static_cast<int>(depth)).compatible(updates)) return ok_status();
  return invalid_argument("Dimensions [", depth, ",", variable.rank(), ") of input[shape=", variable,
                          "] must match dimensions [", rows.rank(), ",", updates.rank(), ") of updates[shape=", updates,
                          "], and the dimensions before them those of indices, of shape ", indices)
      .with_id("ARG-SHAPE-007");
}

Status scatter_nd_ref_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_nd_updates(c, c.input(0)));
  c.set_output(0, c.input(0));
  return ok_status();
}

Status scatter_nd_handle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return check_nd_updates(c, variable_of(c));
}

Status gather_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const PartialShape variable = variable_of(c);
  const PartialShape& indices = c.input(1);
  const std::int64_t batch = c.attrs().get_int("batch_dims");
  if (!variable.has_rank() || !indices.has_rank()) return ok_status();
  if (batch < 0 || batch >= variable.rank() || batch > indices.rank()) {
    return invalid_argument(c.op().name, ": batch_dims ", batch, " does not fit a variable of shape ", variable,
                            " and indices of shape ", indices);
  }
  std::vector<std::int64_t> sizes = indices.sizes();
  for (int axis = static_cast<int>(batch) + 1; axis < variable.rank(); ++axis) sizes.push_back(variable[axis]);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status gather_nd_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const PartialShape variable = variable_of(c);
  const PartialShape& indices = c.input(1);
  if (!indices.has_rank() || !variable.has_rank()) return ok_status();
  if (indices.rank() < 1) return invalid_argument(c.op().name, ": indices must have at least one axis");
  const std::int64_t depth = indices.sizes().back();
  if (depth < 0) return ok_status();
  if (depth > variable.rank()) {
    return invalid_argument(c.op().name, ": indices of ", depth, " numbers cannot name a slice of shape ", variable);
  }
  const PartialShape rows(std::vector<std::int64_t>(indices.sizes().begin(), indices.sizes().end() - 1));
  c.set_output(0, slices_shape(rows, variable, static_cast<int>(depth)));
  return ok_status();
}

// The gradient of a gather adds the rows of the output's gradient into zeros of the variable's shape, by index.
// batch_dims > 0 would flatten into row numbers of [batch * rows, ...]. That needs sizes that only the step knows.
// TensorFlow's clients do not differentiate it either.
std::vector<Value> gather_gradient(GradContext& g) {
  Graph& graph = g.graph();
  if (g.attrs().get_int("batch_dims") != 0) {
    graph.fail(unimplemented("ResourceGather: no gradient for batch_dims ", g.attrs().get_int("batch_dims"))
                   .with_id("ARG-GRAD-003")
                   .with_hint("read the variable and gather() from its value"));
    return {Value(), Value()};
  }
  const Value shape = graph.add("VariableShape", {g.x(0)});
  const Value indices = graph.add("Reshape", {g.x(1), constant(graph, Tensor::vector<std::int32_t>({-1}))});
  const Value rest = graph.add(
      "StridedSlice",
      {shape, constant(graph, Tensor::vector<std::int32_t>({1})), constant(graph, Tensor::vector<std::int32_t>({0})),
       constant(graph, Tensor::vector<std::int32_t>({1}))},
      {{"end_mask", 1}});
  const Value first = graph.add(
      "StridedSlice",
      {shape, constant(graph, Tensor::vector<std::int32_t>({0})), constant(graph, Tensor::vector<std::int32_t>({1})),
       constant(graph, Tensor::vector<std::int32_t>({1}))},
      {{"shrink_axis_mask", 1}});
  const Value count = graph.add("Size", {g.x(1)});
  const Value axis = constant(graph, std::int32_t{0});
  const Value rows = graph.add("ConcatV2", {graph.add("ExpandDims", {count, axis}), rest, axis}, {{"N", 2}});
  const Value updates = graph.add("Reshape", {g.dy(), rows});
  return {graph.add("UnsortedSegmentSum", {updates, indices, first}), Value()};
}

// dy scattered into zeros of the variable's shape.
std::vector<Value> gather_nd_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value shape = graph.add("VariableShape", {g.x(0)}, {{"out_type", g.x(1).dtype()}});
  return {graph.add("ScatterNd", {g.x(1), g.dy(), shape}), Value()};
}

struct ScatterOp {
  const char* name;
  const char* doc;
  const char* types;
  const char* nd_doc;  // null: no Nd form
};
constexpr ScatterOp kScatterOps[] = {
    {"Update", "ref[indices] = updates", "type", "The slices of ref that indices name = updates"},
    {"Add", "ref[indices] += updates", "number", "The slices of ref that indices name += updates"},
    {"Sub", "ref[indices] -= updates", "number", "The slices of ref that indices name -= updates"},
    {"Mul", "ref[indices] *= updates", "number", nullptr},
    {"Div", "ref[indices] /= updates", "number", nullptr},
    {"Min", "ref[indices] = min(ref[indices], updates)", "real", "Like ScatterNdUpdate, with the lesser of both"},
    {"Max", "ref[indices] = max(ref[indices], updates)", "real", "Like ScatterNdUpdate, with the greater of both"},
};

void define_scatters(OpRegistry& ops, const ScatterOp& u) {
  const bool locks_by_default = std::string_view(u.name) == "Update";
  const std::string locking = str_cat("use_locking: bool = ", locks_by_default);
  const std::string type = str_cat(": ", u.types);
  ops.add({.name = str_cat("Scatter", u.name),
           .doc = u.doc,
           .inputs = {"ref: Ref(T)", "indices: Tindices", "updates: T"},
           .outputs = {"output_ref: Ref(T)"},
           .attrs = {"T" + type, "Tindices: index", locking},
           .shape = scatter_ref_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = str_cat("ResourceScatter", u.name),
           .doc = u.doc,
           .inputs = {"resource: resource", "indices: Tindices", "updates: dtype"},
           .attrs = {"dtype" + type, "Tindices: index"},
           .shape = scatter_handle_shape,
           .gradient = kNotDifferentiable,
           .stateful = true});
  if (u.nd_doc == nullptr) return;
  const std::string policy = "bad_indices_policy: {'', 'DEFAULT', 'ERROR', 'IGNORE'} = ''";
  ops.add({.name = str_cat("ScatterNd", u.name),
           .doc = u.nd_doc,
           .inputs = {"ref: Ref(T)", "indices: Tindices", "updates: T"},
           .outputs = {"output_ref: Ref(T)"},
           .attrs = {"T" + type, "Tindices: index", locking, policy},
           .shape = scatter_nd_ref_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = str_cat("ResourceScatterNd", u.name),
           .doc = u.nd_doc,
           .inputs = {"ref: resource", "indices: Tindices", "updates: T"},
           .attrs = {"T" + type, "Tindices: index", "use_locking: bool = true", policy},
           .shape = scatter_nd_handle_shape,
           .gradient = kNotDifferentiable,
           .stateful = true});
}

}  // namespace

void define_scatter_and_gather(OpRegistry& ops) {
  for (const ScatterOp& u : kScatterOps) define_scatters(ops, u);
  ops.add({.name = "ResourceGather",
           .doc = "The rows of the variable that indices name.",
           .inputs = {"resource: resource", "indices: Tindices"},
           .outputs = {"output: dtype"},
           .attrs = {"batch_dims: int = 0", "validate_indices: bool = true", "dtype: type", "Tindices: index"},
           .shape = gather_shape,
           .gradient = gather_gradient,
           .stateful = true,
           .effect = Effect::kReads,
           .sharding_rule = resource_gather_sharding});
  ops.add({.name = "ResourceGatherNd",
           .doc = "The slices of the variable that indices name.",
           .inputs = {"resource: resource", "indices: Tindices"},
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "Tindices: index"},
           .shape = gather_nd_shape,
           .gradient = gather_nd_gradient,
           .stateful = true,
           .effect = Effect::kReads,
           .sharding_rule = gather_nd_sharding});
}

}  // namespace argosy::state
