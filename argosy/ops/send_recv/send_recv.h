// Values that leave their task: TensorFlow's `_Send` and `_Recv`. A graph that is cut by tasks has a pair of them for
// each value that crosses (argosy/passes/partition). They meet in the step's Rendezvous (argosy/op/kernel/rendezvous.h).
//
//   task a:  x ─► _Send [tensor_name="edge_3_x"]          task b:  _Recv [tensor_name="edge_3_x"] ─► y
//
// A dead value is sent as dead, and what receives it is dead. `_HostSend` and `_HostRecv` are the same here: values
// travel through the host's memory.
#pragma once

#include <cstdint>
#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// What an op does for values that leave their task.
enum class Transfer : char { kNone, kSend, kReceive };
Transfer transfer_of(const OpDef& op);  // kNone: its values stay

// This pair never carries a dead value: the static schedule takes no other. An attribute of both.
inline constexpr std::string_view kNeverDead = "_never_dead";

// What is known of the shape of a received value, where it was cut off from what it is made of. An attribute of `_Recv`.
inline constexpr std::string_view kReceivedShape = "_shape";

// The ends of one transfer: equal for its `_Send` and its `_Recv`.
struct TransferEnds {
  std::string name;                    // unique in the step: "edge_3_x"
  std::string send_device;             // full name
  std::uint64_t send_incarnation = 0;  // of that device
  std::string receive_device;          // full name
  bool never_dead = false;             // see kNeverDead
};
// Add the node of one end, on the end's device. Its name is the transfer's and "/send" or "/recv", made unique.
Result<NodeId> add_send(Graph& graph, Endpoint value, const TransferEnds& ends);
// `shape`: what is known of the value. `controls`: what it waits for; none outside of loops.
Result<NodeId> add_receive(Graph& graph, DType dtype, const PartialShape& shape, const TransferEnds& ends,
                           std::vector<NodeId> controls = {});

}  // namespace argosy
