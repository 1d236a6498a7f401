#include "argosy/ops/send_recv/send_recv.h"

#include <array>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/send_recv/pack_values.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

constexpr std::array kSends = {"_Send", "_HostSend"};
constexpr std::array kReceives = {"_Recv", "_HostRecv"};

std::vector<std::string> attrs(const std::string& type) {
  return {type,
          "tensor_name: string",
          "send_device: string",
          "send_device_incarnation: int",
          "recv_device: string",
          "client_terminated: bool = false"};
}

AttrMap attrs_of(const TransferEnds& ends, const char* type, DType dtype) {
  AttrMap map = {{type, dtype},
                 {"tensor_name", ends.name},
                 {"send_device", ends.send_device},
                 {"send_device_incarnation", static_cast<std::int64_t>(ends.send_incarnation)},
                 {"recv_device", ends.receive_device},
                 {"client_terminated", false}};
  if (ends.never_dead) map.set(kNeverDead, true);
  return map;
}

Status received_shape(ShapeContext& c) {
  if (const auto* const shape = c.attrs().find_as<PartialShape>(kReceivedShape)) c.set_output(0, *shape);
  return ok_status();
}

}  // namespace

static void add_send_recv_ops(OpRegistry& ops) {
  for (const char* name : kSends) {
    ops.add({.name = name,
             .doc = "Sends a value to another task of the step.",
             .inputs = {"tensor: T"},
             .attrs = attrs("T: type"),
             .shape = no_output,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .in_host_memory = true,
             .host_inputs = {0}});
  }
  for (const char* name : kReceives) {
    ops.add({.name = name,
             .doc = "A value that another task of the step sends.",
             .outputs = {"tensor: tensor_type"},
             .attrs = attrs("tensor_type: type"),
             .shape = received_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .in_host_memory = true,
             .async = true,
             .host_outputs = {0}});
  }
}

void define_send_recv(OpRegistry& ops) {
  with_sharding(ops, add_send_recv_ops, {}, "once: it meets one other task of the step");
  define_pack_values(ops);
}

Transfer transfer_of(const OpDef& op) {
  if (op.name[0] != '_') return Transfer::kNone;
  for (const char* name : kSends) {
    if (op.name == name) return Transfer::kSend;
  }
  for (const char* name : kReceives) {
    if (op.name == name) return Transfer::kReceive;
  }
  return Transfer::kNone;
}

Result<NodeId> add_send(Graph& graph, Endpoint value, const TransferEnds& ends) {
  return graph.add_node({.name = graph.unique_name(str_cat(ends.name, "/send")),
                         .op = kSends[0],
                         .inputs = {value},
                         .attrs = attrs_of(ends, "T", graph.dtype(value)),
                         .device = ends.send_device});
}

Result<NodeId> add_receive(Graph& graph, DType dtype, const PartialShape& shape, const TransferEnds& ends,
                           std::vector<NodeId> controls) {
  return graph.add_node({.name = graph.unique_name(str_cat(ends.name, "/recv")),
                         .op = kReceives[0],
                         .controls = std::move(controls),
                         .attrs = attrs_of(ends, "tensor_type", dtype),
                         .device = ends.receive_device,
                         .shapes = {shape}});
}

}  // namespace argosy
