#include "argosy/ops/send_recv/pack_values.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

constexpr const char* kShapes = "shapes";

Status packed_shape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  return ok_status();
}

Status unpacked_shapes(ShapeContext& c) {
  const auto* const shapes = c.attrs().find_as<std::vector<PartialShape>>(kShapes);
  if (shapes == nullptr) return ok_status();
  if (static_cast<int>(shapes->size()) != c.num_outputs())
    return invalid_argument("_UnpackValues: ", shapes->size(), " shapes of ", c.num_outputs(), " values");
  for (std::size_t i = 0; i < shapes->size(); ++i) c.set_output(static_cast<int>(i), (*shapes)[i]);
  return ok_status();
}

void add_ops(OpRegistry& ops) {
  ops.add({.name = "_PackValues",
           .doc = "Several values as one message for another task.",
           .inputs = {"values: T"},
           .outputs = {"message: uint8"},
           .attrs = {"T: list(type) >= 1"},
           .shape = packed_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost});
  ops.add({.name = "_UnpackValues",
           .doc = "The values of a message that _PackValues made.",
           .inputs = {"message: uint8"},
           .outputs = {"values: T"},
           .attrs = {"T: list(type) >= 1", "shapes: list(shape) >= 1"},
           .shape = unpacked_shapes,
           .gradient = kNotDifferentiable,
           .cost = free_cost});
}

}  // namespace

void define_pack_values(OpRegistry& ops) {
  with_sharding(ops, add_ops, {}, "whole: a message has bytes, not elements");
}

Result<NodeId> add_pack(Graph& graph, std::string name, const std::vector<Endpoint>& values, std::string device) {
  std::vector<DType> dtypes;
  SmallVector<Endpoint, 8> inputs;
  for (const Endpoint e : values) {
    dtypes.push_back(graph.dtype(e));
    inputs.push_back(e);
  }
  return graph.add_node({.name = graph.unique_name(std::move(name)),
                         .op = "_PackValues",
                         .inputs = std::move(inputs),
                         .attrs = {{"T", std::move(dtypes)}},
                         .device = std::move(device)});
}

Result<NodeId> add_unpack(Graph& graph, std::string name, Endpoint message, std::vector<DType> dtypes,
                          std::vector<PartialShape> shapes, std::string device) {
  return graph.add_node({.name = graph.unique_name(std::move(name)),
                         .op = "_UnpackValues",
                         .inputs = {message},
                         .attrs = {{"T", std::move(dtypes)}, {kShapes, std::move(shapes)}},
                         .device = std::move(device)});
}

}  // namespace argosy
