// PlacementGroups: the groups of nodes of a graph that must share a device, and the devices possible for each group.
// Internal to argosy/passes/place/place.cc, whose header has the rules.
//
//   requests     the requested devices, merged over a group; if two disagree, a variable's wins, else the first
//   candidates   the devices that have a kernel for every node of a group
//   homes        the device of the existing resources that a group's handles name
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/passes/place/place.h"

namespace argosy {

// Union-find over positions 0 to n - 1. Each root carries its group's merged request, and that of the group's resources.
class DeviceRequests {
 public:
  explicit DeviceRequests(int n);

  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  const DeviceName& request(int i) { return requests_[request_of_[find(i)]]; }
  // Adds a request and returns its number, for set_request(). Each call gives a new one: callers reuse it for equal requests.
  std::int32_t add_request(DeviceName request);
  void set_request(int i, std::int32_t request) { request_of_[find(i)] = request; }
  // The request of a variable or another resource that position i makes.
  void set_resource_request(int i, std::int32_t request) { resource_request_of_[find(i)] = request; }
  // Merges the groups of a and b. If their requests disagree, that is an error, or, if `soft`, one wins: the one of the
  // group with a resource, a's if both or neither have one.
  Status merge(int a, int b, bool soft);
  // "<a's> vs <b's>" if the resources of the groups of a and b ask for devices that exclude each other; else "".
  std::string incompatible_resources(int a, int b);

 private:
  std::vector<int> parent_;
  std::vector<std::int32_t> request_of_;           // by root of a group: its request
  std::vector<std::int32_t> resource_request_of_;  // by root of a group: the request of what it makes; 0: none
  std::vector<DeviceName> requests_;      // position 0: no request
};

// The properties of an op that placement needs.
struct OpTraits {
  bool takes_refs = false;
  bool may_take_handles = false;  // references or resources
  std::vector<char> has_kernel;   // by device
  std::vector<char> may_go;       // by device: has a kernel, and is no GPU if the op is cpu_only
};

// Caches the traits of each op.
class OpTraitsTable {
 public:
  explicit OpTraitsTable(const PlaceOptions& options) : options_(options) {}  // `options` must outlive it

  // The reference stays valid.
  const OpTraits& of(const OpDef& op);

 private:
  const PlaceOptions& options_;
  std::unordered_map<const OpDef*, OpTraits> traits_;
  const OpDef* last_op_ = nullptr;
  const OpTraits* last_traits_ = nullptr;
};

class PlacementGroups {
 public:
  // Both must outlive this.
  PlacementGroups(const Graph& graph, const PlaceOptions& options);

  // Reads the graph. Call it before the functions below. INVALID_ARGUMENT: a request cannot be parsed; a node takes
  // resources of different devices; without soft placement, nodes colocated by "_class" request different devices.
  Status read();

  // The group of a node, by the position of its root.
  int root(NodeId id) { return requests_.find(id.index); }
  const DeviceName& request(int root) { return requests_.request(root); }
  // By device: all nodes of the group may run there.
  std::span<const char> candidates(int root) const;
  // The device of the existing resource that the group's handles name; -1: none, or the group cannot go there.
  int home(int root) const { return homes_.empty() ? -1 : homes_[static_cast<std::size_t>(root)]; }
  // The reason why a kernel refuses a node of the group; null: none does.
  const std::string* refusal(int root) const;
  // The full names of the devices.
  const std::vector<std::string>& device_names() const { return names_; }

 private:
  Status read_requests();
  Status join();
  Status join_with_resource(NodeId from, NodeId to);
  void find_candidates();
  void find_homes();
  DeviceName request_met(DeviceName request) const;
  int home_named_by(NodeId id) const;
  bool stays_apart(int i, NodeId leader) const;

  const Graph& graph_;
  const PlaceOptions& options_;
  DeviceRequests requests_;
  std::vector<std::string> names_;
  std::vector<char> capable_;  // by root of a group, then by device
  OpTraitsTable traits_;
  std::vector<const OpTraits*> traits_of_;        // by node
  std::vector<NodeId> sources_;                   // stateful nodes without inputs, among them those that make handles
  std::unordered_map<int, std::string> refused_;  // by root of a group: the first kernel's reason
  std::vector<int> homes_;                        // by root of a group, -1: none; empty when none has one
};

// The error for a node that no device can run. `hint`: what to do; "": the default hint.
Status cannot_place(const Node& node, const std::string& why, const std::string& hint = "");

}  // namespace argosy
