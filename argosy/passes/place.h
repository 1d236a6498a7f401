// Placement: every node gets the full name of one device. The rules are TensorFlow's:
//
//   1. a node's own request (device scopes, merged part by part, inner wins);
//   2. whoever takes a reference or a resource goes where the variable is, and "_class" groups stay together;
//   3. among the devices that match and have a kernel for every node of a group, a GPU is preferred, the lowest first;
//   4. a request that cannot be met moves to a device that can when soft placement is allowed, else it is an error;
//   5. a handle to something that lives already goes where that is, and its users with it, soft placement allowing: a
//      variable must be the same one in every step, whoever else uses it there;
//   6. gradients of imported graphs follow their forward ops (argosy/passes/follow_forward.h);
//   7. generators (no inputs, one output) go to their only consumer's device; nodes that only look at shapes stay with
//      what they look at; feeds are on the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/graph/graph.h"

namespace argosy {

struct PlaceOptions {
  std::vector<DeviceSpec> devices;
  // Is there a kernel for this op on this device?
  std::function<bool(const OpDef&, const DeviceSpec&)> has_kernel;
  // Where there is one: why it does not take this node ("no GPU kernel for Add with int16"); empty: it does. Null: all
  // do.
  std::function<std::string(const Node&, const DeviceSpec&)> refuses = nullptr;
  bool allow_soft_placement = true;
  // Where what this handle names lives already, a position in `devices`; -1: nowhere yet. Null: nothing does.
  std::function<int(const Node&)> home = nullptr;
};

// Why a node is where it is; indices into the node array.
struct Placement {
  std::vector<int> device;          // per node: position in PlaceOptions::devices
  std::vector<std::string> reason;  // per node
};

// Node::device becomes a full name. INVALID_ARGUMENT "Cannot assign a device for operation …" with the devices there
// are.
Result<Placement> place(Graph& graph, const PlaceOptions& options);

}  // namespace argosy
