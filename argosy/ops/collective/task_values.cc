#include "argosy/ops/collective/task_values.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/collective/task_net.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status task_values_shape(ShapeContext& c) {
  const auto& shapes = c.attrs().get<std::vector<PartialShape>>("shapes");
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return invalid_argument("_TaskValues: ", shapes.size(), " shapes of ", c.num_outputs(), " values");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
  return ok_status();
}

}  // namespace

static void add_task_values_op(OpRegistry& ops) {
  ops.add({.name = "_TaskValues",
           .doc = "Values of every task of a job, on each of them.",
           .inputs = {"own: Tin"},
           .outputs = {"all: Tout"},
           .attrs = {"Tin: list(type) >= 0", "Tout: list(type) >= 1", "shapes: list(shape)", "group: string"},
           .shape = task_values_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .in_host_memory = true,
           .async = true,
           .collective = true});
}

void define_task_values(OpRegistry& ops) {
  with_sharding(ops, add_task_values_op, {}, "whole: made when a step is divided among tasks");
}

Result<NodeId> add_task_values(Graph& graph, const std::vector<Endpoint>& own, const TaskValuesSpec& spec,
                               std::string_view name) {
  std::vector<DType> given;
  for (const Endpoint e : own) given.push_back(graph.dtype(e));
  NodeSpec node{.name = graph.unique_name(name),
                .op = "_TaskValues",
                .inputs = own,
                .attrs = {{"Tin", given}, {"Tout", spec.dtypes}, {"shapes", spec.shapes}, {"group", spec.group}},
                .device = "/device:CPU:0"};
  if (!spec.net.empty()) node.attrs.set(kNetAttr, spec.net);
  return graph.add_node(std::move(node));
}

}  // namespace argosy
