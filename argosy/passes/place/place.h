// Placement: every node gets the full name of one device. The rules are TensorFlow's:
//
//   1. a node's own request (device scopes, merged part by part, inner wins);
//   2. nodes that take a reference or a resource go where the variable is, and "_class" groups stay together;
//   3. among the devices that match and have a kernel for every node of a group, those of the own task come first; then
//      a GPU is preferred, the lowest first;
//   4. a request for a device without a kernel moves to a device with one in two cases: soft placement is allowed, or
//      the GPU exists and TensorFlow has a GPU kernel but Argosy does not. Else it is an error;
//   5. a handle to an existing resource goes to the resource's device, and its users with it, if soft placement allows:
//      a variable must be the same one in every step. What was asked for on another device than the handle's is
//      another variable. What is colocated only by "_class" is placed alone if it has no kernel there.
//   6. gradients of imported graphs follow their forward ops (argosy/passes/place/colocate_gradients.h);
//   7. generators (no inputs, one output) go to their only consumer's device; nodes that only read shapes stay with
//      the producer; feeds are on the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/graph/graph.h"

namespace argosy {

struct PlaceOptions {
  std::vector<DeviceSpec> devices;
  // The first `own` of `devices` belong to the own task; 0: all do.
  std::size_t own = 0;
  // True if the op has a kernel for this device.
  std::function<bool(const OpDef&, const DeviceSpec&)> has_kernel;
  // If there is a kernel: the reason why it does not take this node ("no GPU kernel for Add with int16"); empty: it
  // does. Null: kernels take all nodes.
  std::function<std::string(const Node&, const DeviceSpec&)> refuses = nullptr;
  bool allow_soft_placement = true;
  // The device (a position in `devices`) of the existing resource that this handle names; -1: it names none. `request`
  // is the handle's own; where no device meets it, its task alone. Null: no resource exists.
  std::function<int(const Node&, const DeviceName& request)> home = nullptr;
};

// The device of every node, and the reason.
struct DevicePlacement {
  std::vector<int> device;               // per node: position in PlaceOptions::devices
  std::vector<std::int32_t> reason;      // per node: position in `reasons`
  std::vector<std::string> reasons;      // distinct reasons
  std::vector<std::string> device_name;  // by position in PlaceOptions::devices: the full name
  // A sentence for each requested device that does not exist: which nodes run where instead, and what to do.
  std::vector<std::string> missing_devices = {};

  const std::string& device_of(NodeId id) const { return device_name[static_cast<std::size_t>(device[id.index])]; }
  const std::string& reason_of(NodeId id) const { return reasons[static_cast<std::size_t>(reason[id.index])]; }
};

// Places every node. Does not change the graph: Node::device stays the request. INVALID_ARGUMENT "Cannot assign a
// device for operation …", with the list of devices.
Result<DevicePlacement> place(const Graph& graph, const PlaceOptions& options);

}  // namespace argosy
