// Placement: every node gets the full name of one device. The rules are TensorFlow's:
//
//   1. a node's own request (device scopes, merged part by part, inner wins);
//   2. whoever takes a reference or a resource goes where the variable is, and "_class" groups stay together;
//   3. among the devices that match and have a kernel for every node of a group, those of the own task come first; then a
//      GPU is preferred, the lowest first;
//   4. a request that cannot be met moves to a device that can when soft placement is allowed, or where TensorFlow has
//   a
//      kernel for a GPU that is there and we have not, else it is an error;
//   5. a handle to something that lives already goes where that is, and its users with it, soft placement allowing: a
//      variable must be the same one in every step, whoever else uses it there. What only stays together with it by its
//      "_class", and has no kernel there, goes alone;
//   6. gradients of imported graphs follow their forward ops (argosy/passes/place/colocate_gradients.h);
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
  // So many of them, the first, are of the own task; 0: all.
  std::size_t own = 0;
  // Is there a kernel for this op on this device?
  std::function<bool(const OpDef&, const DeviceSpec&)> has_kernel;
  // Where there is one: why it does not take this node ("no GPU kernel for Add with int16"); empty: it does. Null: all
  // do.
  std::function<std::string(const Node&, const DeviceSpec&)> refuses = nullptr;
  bool allow_soft_placement = true;
  // Where what this handle names lives already, a position in `devices`; -1: nowhere yet. Null: nothing does.
  std::function<int(const Node&)> home = nullptr;
};

// Where every node is, and why; indices into the node array.
struct DevicePlacement {
  std::vector<int> device;               // per node: position in PlaceOptions::devices
  std::vector<std::int32_t> reason;      // per node: position in `reasons`
  std::vector<std::string> reasons;      // those there are
  std::vector<std::string> device_name;  // by position in PlaceOptions::devices: the full name
  // Devices that were asked for and are not there: what runs where instead, and what to do; a sentence each.
  std::vector<std::string> missing_devices = {};

  const std::string& device_of(NodeId id) const { return device_name[static_cast<std::size_t>(device[id.index])]; }
  const std::string& reason_of(NodeId id) const { return reasons[static_cast<std::size_t>(reason[id.index])]; }
};

// The graph stays as it is: Node::device is still what was asked for. INVALID_ARGUMENT "Cannot assign a device for
// operation …" with the devices there are.
Result<DevicePlacement> place(const Graph& graph, const PlaceOptions& options);

}  // namespace argosy
