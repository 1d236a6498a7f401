#include "argosy/ops/map/map.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status map_input(const ShapeContext& c) { return c.num_inputs() > 0 ? c.with_rank(0, 0).status() : ok_status(); }

Status handle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(map_input(c));
  return scalar_output(c);
}
Status lookup_shape(ShapeContext& c) { return map_input(c); }
Status has_key_shape(ShapeContext& c) { return handle_shape(c); }
Status size_shape(ShapeContext& c) { return handle_shape(c); }
Status keys_shape(ShapeContext& c) { return map_input(c); }

// A map of what flows into the values: of one that was looked up, that entry alone.
std::vector<Value> lookup_gradient(GradContext& g) {
  return {tensor_map_insert(tensor_map(g.graph()), g.x(1), g.dy()), Value()};
}
std::vector<Value> erase_gradient(GradContext& g) { return {g.dy(), Value()}; }
std::vector<Value> insert_gradient(GradContext& g) {
  const Value map = g.dy(), key = g.x(1), value = g.x(2);
  const auto flowed = [&] { return std::vector<Value>{tensor_map_lookup(map, key, value.dtype())}; };
  const auto nothing = [&] { return std::vector<Value>{zeros_like(value)}; };
  const std::vector<Value> dv = cond(tensor_map_has_key(map, key), flowed, nothing);
  return {tensor_map_erase(map, key), Value(), dv.empty() ? Value() : dv[0]};
}

}  // namespace

static void add_map_ops(OpRegistry& ops) {
  ops.add({.name = "EmptyTensorMap",
           .doc = "A map without entries.",
           .inputs = {},
           .outputs = {"handle: variant"},
           .shape = handle_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  ops.add({.name = "TensorMapInsert",
           .doc = "The map with one entry more, or another.",
           .inputs = {"input_handle: variant", "key: key_dtype", "value: value_dtype"},
           .outputs = {"output_handle: variant"},
           .attrs = {"key_dtype: type", "value_dtype: type"},
           .shape = handle_shape,
           .gradient = insert_gradient,
           .cpu_only = true});
  ops.add({.name = "TensorMapLookup",
           .doc = "The value of a key.",
           .inputs = {"input_handle: variant", "key: key_dtype"},
           .outputs = {"value: value_dtype"},
           .attrs = {"key_dtype: type", "value_dtype: type"},
           .shape = lookup_shape,
           .gradient = lookup_gradient,
           .cpu_only = true});
  ops.add({.name = "TensorMapErase",
           .doc = "The map without a key.",
           .inputs = {"input_handle: variant", "key: key_dtype"},
           .outputs = {"output_handle: variant"},
           .attrs = {"key_dtype: type", "value_dtype: type"},
           .shape = handle_shape,
           .gradient = erase_gradient,
           .cpu_only = true});
  ops.add({.name = "TensorMapHasKey",
           .doc = "Is there such a key?",
           .inputs = {"input_handle: variant", "key: key_dtype"},
           .outputs = {"has_key: bool"},
           .attrs = {"key_dtype: type"},
           .shape = has_key_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "TensorMapSize",
           .doc = "How many entries there are.",
           .inputs = {"input_handle: variant"},
           .outputs = {"size: int32"},
           .shape = size_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "TensorMapStackKeys",
           .doc = "The keys as rows of a tensor.",
           .inputs = {"input_handle: variant"},
           .outputs = {"keys: key_dtype"},
           .attrs = {"key_dtype: type"},
           .shape = keys_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
}

void define_map(OpRegistry& ops) { with_sharding(ops, add_map_ops, {}, "whole: a map is one value"); }

Value tensor_map(Graph& graph) { return graph.add("EmptyTensorMap", {}); }
Value tensor_map_insert(Value map, Value key, Value value) {
  return map.valid() ? map.graph().add("TensorMapInsert", {map, key, value}) : map;
}
Value tensor_map_lookup(Value map, Value key, DType value_dtype) {
  return map.valid() ? map.graph().add("TensorMapLookup", {map, key}, {{"value_dtype", value_dtype}}) : map;
}
Value tensor_map_erase(Value map, Value key) {
  return map.valid() ? map.graph().add("TensorMapErase", {map, key}, {{"value_dtype", DType::kFloat32}}) : map;
}
Value tensor_map_has_key(Value map, Value key) {
  return map.valid() ? map.graph().add("TensorMapHasKey", {map, key}) : map;
}
Value tensor_map_size(Value map) { return map.valid() ? map.graph().add("TensorMapSize", {map}) : map; }

}  // namespace argosy
