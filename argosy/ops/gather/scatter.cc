// GatherNd, and ops that scatter by indices of the same form: their last axis is a path into the leading axes of a
// tensor.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/gather_sharding.h"

namespace argosy {

namespace {

// indices[:-1] + tensor[depth:], where depth is the length of a path; unknown where either is.
Result<PartialShape> slices_shape(const ShapeContext& c, const PartialShape& indices, const PartialShape& tensor) {
  if (!indices.has_rank()) return PartialShape::unknown();
  if (indices.rank() == 0) return invalid_argument(c.op().name, ": indices must have rank 1 or more");
  const std::int64_t depth = indices.sizes().back();
  if (!tensor.has_rank() || depth < 0) return PartialShape::unknown();
  if (depth > tensor.rank()) {
    return invalid_argument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                            tensor.rank(), ": ", c.op().name, ": paths of ", depth, " indices into a tensor of shape ",
                            tensor);
  }
  std::vector<std::int64_t> sizes(indices.sizes().begin(), indices.sizes().end() - 1);
  sizes.insert(sizes.end(), tensor.sizes().begin() + depth, tensor.sizes().end());
  return PartialShape(std::move(sizes));
}

Status check_policy(const ShapeContext& c) {
  const std::string& policy = c.attrs().get_string("bad_indices_policy");
  for (const char* known : {"", "DEFAULT", "ERROR", "IGNORE"}) {
    if (policy == known) return ok_status();
  }
  return invalid_argument(c.op().name, ": bad_indices_policy \"", policy, "\" is none of DEFAULT, ERROR, IGNORE");
}

Status gather_nd_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_policy(c));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape slices, slices_shape(c, c.input(1), c.input(0)));
  c.set_output(0, std::move(slices));
  return ok_status();
}

Status check_updates(const ShapeContext& c, const PartialShape& slices, const PartialShape& updates) {
  if (slices.compatible(updates)) return ok_status();
  return invalid_argument(c.op().name, ": updates have shape ", updates, ", the indices point at ", slices);
}

Status scatter_nd_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_policy(c));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape vector, c.with_rank(2, 1));
  const PartialShape shape = c.input_as_shape(2);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape slices, slices_shape(c, c.input(0), shape));
  ARGOSY_RETURN_IF_ERROR(check_updates(c, slices, c.input(1)));
  c.set_output(0, shape);
  return ok_status();
}

Status tensor_scatter_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_policy(c));
  if (c.input(0).rank() == 0) return invalid_argument(c.op().name, ": tensor must have rank 1 or more");
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape slices, slices_shape(c, c.input(1), c.input(0)));
  ARGOSY_RETURN_IF_ERROR(check_updates(c, slices, c.input(2)));
  c.set_output(0, c.input(0));
  return ok_status();
}

AttrMap policy(const GradContext& g) { return {{"bad_indices_policy", g.attrs().get_string("bad_indices_policy")}}; }

// y = gather_nd(x, i)  =>  dx = dy added where i points
std::vector<Value> gather_nd_gradient(GradContext& g) {
  const Value shape =
      g.graph().add("Shape", {g.x(0)}, {{"out_type", g.x(1).dtype() == DType::kInt64 ? DType::kInt64 : DType::kInt32}});
  Value indices = g.x(1);
  if (indices.dtype() == DType::kInt16) indices = g.graph().add("Cast", {indices}, {{"DstT", DType::kInt32}});
  return {g.graph().add("ScatterNd", {indices, g.dy(), shape}, policy(g)), Value()};
}

std::vector<Value> scatter_nd_gradient(GradContext& g) {
  return {Value(), g.graph().add("GatherNd", {g.dy(), g.x(0)}, policy(g)), Value()};
}

Value at_indices(GradContext& g) {
  Value indices = g.x(1);
  if (indices.dtype() == DType::kUint16) indices = g.graph().add("Cast", {indices}, {{"DstT", DType::kInt32}});
  return g.graph().add("GatherNd", {g.dy(), indices}, policy(g));
}
// The gradient of replaced elements is zero.
std::vector<Value> scatter_update_gradient(GradContext& g) {
  const Value dx = g.graph().add("TensorScatterUpdate", {g.dy(), g.x(1), zeros_like(g.x(2))}, policy(g));
  return {dx, Value(), at_indices(g)};
}
std::vector<Value> scatter_add_gradient(GradContext& g) { return {g.dy(), Value(), at_indices(g)}; }
std::vector<Value> scatter_sub_gradient(GradContext& g) {
  return {g.dy(), Value(), g.graph().add("Neg", {at_indices(g)})};
}

// The gradient goes to the elements of the tensor or of the updates that equal the result; each of them gets all of it.
std::vector<Value> scatter_extreme_gradient(GradContext& g) {
  const auto where_equal = [&](Value a, Value b, Value d) {
    return g.graph().add("SelectV2", {g.graph().add("Equal", {a, b}), d, zeros_like(d)});
  };
  const Value y_at = g.graph().add("GatherNd", {g.y(), g.x(1)}, policy(g));
  return {where_equal(g.x(0), g.y(), g.dy()), Value(), where_equal(g.x(2), y_at, at_indices(g))};
}

}  // namespace

void define_scatters(OpRegistry& ops) {
  const std::string policy_attr = "bad_indices_policy: string = ''";
  ops.add({.name = "GatherNd",
           .doc = "The slices of params that the last axis of indices points at.",
           .inputs = {"params: Tparams", "indices: Tindices"},
           .outputs = {"output: Tparams"},
           .attrs = {"Tparams: type", "Tindices: {int16, int32, int64}", policy_attr},
           .shape = gather_nd_shape,
           .gradient = gather_nd_gradient,
           .sharding_rule = gather_nd_sharding});
  ops.add({.name = "ScatterNd",
           .doc = "Zeros of the given shape with updates added where indices point.",
           .inputs = {"indices: Tindices", "updates: T", "shape: Tindices"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tindices: {int16, int32, int64}", policy_attr},
           .shape = scatter_nd_shape,
           .gradient = scatter_nd_gradient,
           .sharding_rule = scatter_nd_sharding,
           .host_inputs = {2}});
  const auto tensor_scatter = [&](const char* name, const char* doc, const char* indices, GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"tensor: T", "indices: Tindices", "updates: T"},
             .outputs = {"output: T"},
             .attrs = {"T: type", indices, policy_attr},
             .shape = tensor_scatter_shape,
             .gradient = gradient,
             .in_place = {{0, 0}}});
  };
  tensor_scatter("TensorScatterUpdate", "tensor with the slices that indices point at replaced.",
                 "Tindices: {int16, int32, int64, uint16}", scatter_update_gradient);
  tensor_scatter("TensorScatterAdd", "tensor with updates added where indices point.", "Tindices: index",
                 scatter_add_gradient);
  tensor_scatter("TensorScatterSub", "tensor with updates subtracted where indices point.", "Tindices: index",
                 scatter_sub_gradient);
  tensor_scatter("TensorScatterMax", "The greater of tensor and updates where indices point.", "Tindices: index",
                 scatter_extreme_gradient);
  tensor_scatter("TensorScatterMin", "The smaller of tensor and updates where indices point.", "Tindices: index",
                 scatter_extreme_gradient);
  ops.add({.name = "ScatterNdNonAliasingAdd",
           .doc = "input with updates added where indices point.",
           .inputs = {"input: T", "indices: Tindices", "updates: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {number, bool}", "Tindices: index", policy_attr},
           .shape = tensor_scatter_shape,
           .gradient = scatter_add_gradient,
           .in_place = {{0, 0}},
           .sharding_rule = linear_scatter_nd_into_sharding});
}

Value gather_nd(Value params, Value indices) {
  return params.valid() ? params.graph().add("GatherNd", {params, indices}) : params;
}
Value scatter_nd(Value indices, Value updates, Value shape) {
  return indices.valid() ? indices.graph().add("ScatterNd", {indices, updates, shape}) : indices;
}
Value tensor_scatter_update(Value tensor, Value indices, Value updates) {
  return tensor.valid() ? tensor.graph().add("TensorScatterUpdate", {tensor, indices, updates}) : tensor;
}
Value tensor_scatter_add(Value tensor, Value indices, Value updates) {
  return tensor.valid() ? tensor.graph().add("TensorScatterAdd", {tensor, indices, updates}) : tensor;
}
Value tensor_scatter_sub(Value tensor, Value indices, Value updates) {
  return tensor.valid() ? tensor.graph().add("TensorScatterSub", {tensor, indices, updates}) : tensor;
}

}  // namespace argosy
