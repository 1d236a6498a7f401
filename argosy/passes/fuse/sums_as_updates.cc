#include "argosy/passes/fuse/sums_as_updates.h"

#include <algorithm>
#include <vector>

#include "argosy/op/definition/opcode.h"
#include "argosy/tensor/dtype.h"

namespace argosy {

namespace {

// A constant rate, one for all sums that take it.
struct Rate {
  bool add;
  DType type;
  Name device;
  NodeId node;
};

Tensor number(DType dtype, float value) {
  Tensor t = Tensor::zeros(dtype, {});
  const Status made = dispatch<FloatTypes>(dtype, "rate", [&]<typename T>() {
    *t.data<T>() = T(value);
    return ok_status();
  });
  ARGOSY_CHECK(made.ok());
  return t;
}

}  // namespace

Status sums_to_updates(Graph& graph, const RequestedDevices& devices) {
  std::vector<NodeId> sums;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.op->flow != Flow::kNone) return ok_status();
    const DType* const type = n.attrs.find_as<DType>("T");
    const bool is_sum = n.op->opcode == Opcode::kAssignAdd || n.op->opcode == Opcode::kAssignSubtract;
    if (!is_sum || type == nullptr || !is_floating(*type)) continue;
    const PartialShape &variable = graph.shape(n.inputs[0]), &by = graph.shape(n.inputs[1]);
    if (variable.is_full() && variable == by && devices.is_async(NodeId{i})) sums.push_back(NodeId{i});
  }
  if (sums.size() < 2) return ok_status();
  std::vector<Rate> rates;
  for (const NodeId id : sums) {
    const bool add = graph.node(id).op->opcode == Opcode::kAssignAdd;
    const DType type = graph.node(id).attrs.get_type("T");
    const Name device = graph.node(id).device;
    auto rate = std::find_if(rates.begin(), rates.end(),
                             [&](const Rate& r) { return r.add == add && r.type == type && r.device == device; });
    if (rate == rates.end()) {
      NodeSpec spec{.name = graph.unique_name(str_cat(graph.node(id).name, "/rate")),
                    .op = "Const",
                    .attrs = {{"value", number(type, add ? -1 : 1)}, {"dtype", type}},
                    .device = std::string(device)};
      ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph.add_node(std::move(spec)));
      rate = rates.insert(rates.end(), {add, type, device, made});
    }
    const Node& n = graph.node(id);
    const std::vector<Endpoint> inputs = {n.inputs[0], {rate->node, 0}, n.inputs[1]};
    const std::vector<NodeId> controls = n.controls;
    AttrMap attrs = {{"T", type}, {"use_locking", n.attrs.get_or("use_locking", false)}};
    const auto colocated_with = n.colocated_with;
    ARGOSY_RETURN_IF_ERROR(graph.replace_with(id, "ApplyGradientDescent", inputs, controls, std::move(attrs)));
    graph.set_colocation(id, colocated_with);
  }
  return ok_status();
}

}  // namespace argosy
