// Transfers between tasks: TensorFlow's `_Send` and `_Recv`. A graph partitioned by task (argosy/passes/partition) has
// a pair of them for each transfer. A transfer carries one value, an order without a value, or several small values in
// one message (pack_values.h). Both ends meet in the step's Rendezvous (argosy/op/kernel/rendezvous.h).
//
//   task a:  x ─► _Send [tensor_name="edge_3_x"]          task b:  _Recv [tensor_name="edge_3_x"] ─► y
//
// A dead value is sent as dead, and its `_Recv` is dead. `_HostSend` and `_HostRecv` do the same: all transfers go
// through the host's memory.
#pragma once

#include <cstdint>
#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Which end of a transfer an op is: not the transfer itself.
enum class Transfer : char { kNone, kSend, kReceive };
Transfer transfer_of(const OpDef& op);  // kNone: neither end

// An attribute of both ends: this transfer never carries a dead value. Static schedules allow no other transfers.
inline constexpr std::string_view kNeverDead = "_never_dead";

// An attribute of `_Recv`: the partial shape of the value. It is set because shape inference cannot see the value's
// producer, which is in another task's graph.
inline constexpr std::string_view kReceivedShape = "_shape";

// The ends of one transfer: equal for its `_Send` and its `_Recv`.
struct TransferEnds {
  std::string name;                    // unique in the step: "edge_3_x"
  std::string send_device;             // full name
  std::uint64_t send_incarnation = 0;  // of that device
  std::string receive_device;          // full name
  bool never_dead = false;             // see kNeverDead
};
// Add the node of one end, on that end's device. Its name is the transfer's, and "/send" or "/recv", made unique.
Result<NodeId> add_send(Graph& graph, Endpoint value, const TransferEnds& ends);
// `shape`: the value's partial shape. `controls`: the node's control inputs.
Result<NodeId> add_receive(Graph& graph, DType dtype, const PartialShape& shape, const TransferEnds& ends,
                           std::vector<NodeId> controls = {});

}  // namespace argosy
