// PlacementGroups: the nodes of a graph that must share a device, and where each group could go. Internal to
// argosy/passes/place/place.cc, whose header has the rules.
//
//   requests     what nodes ask for, merged over a group; the first wins where two disagree
//   candidates   the devices that have a kernel for every node of a group
//   homes        the device on which what a group's handles name lives already
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/passes/place/place.h"

namespace argosy {

// Union-find over positions 0 to n - 1; each root carries its group's merged request.
class DeviceRequests {
 public:
  explicit DeviceRequests(int n);

  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  const DeviceName& request(int i) { return requests_[asked_[find(i)]]; }
  // A request to give to nodes: the same number for the same one.
  std::int32_t add_request(DeviceName request);
  void ask(int i, std::int32_t request) { asked_[find(i)] = request; }
  // The first group's request wins where the two disagree and `soft` allows it.
  Status merge(int a, int b, bool soft);

 private:
  std::vector<int> parent_;
  std::vector<std::int32_t> asked_;   // by root of a group: its request
  std::vector<DeviceName> requests_;  // 0: the open one
};

// What matters to placement of an op.
struct OpTraits {
  bool takes_refs = false;
  bool may_take_handles = false;  // references or resources
  std::vector<char> has_kernel;   // by device
  std::vector<char> may_go;       // by device: has one, and is not TensorFlow's for CPUs only
};

// The traits of each op that is met, found once.
class OpTraitsTable {
 public:
  explicit OpTraitsTable(const PlaceOptions& options) : options_(options) {}  // which outlive it

  // Stays where it is as others are added.
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

  // Reads the graph. Before it, nothing below holds. INVALID_ARGUMENT where requests cannot be read, or where nodes that
  // are colocated ask for different devices.
  Status read();

  // The group of a node, by the position of its root.
  int root(NodeId id) { return requests_.find(id.index); }
  const DeviceName& request(int root) { return requests_.request(root); }
  // By device: may all of the group run there?
  std::span<const char> candidates(int root) const;
  // Where what the group's handles name lives already; -1: nowhere yet.
  int home(int root) const { return homes_.empty() ? -1 : homes_[static_cast<std::size_t>(root)]; }
  // Why a kernel refuses a node of the group; null where none does.
  const std::string* refusal(int root) const;
  // The full names of the devices.
  const std::vector<std::string>& device_names() const { return names_; }

 private:
  Status read_requests();
  Status join();
  void find_candidates();
  void find_homes();
  int home_named_by(NodeId id) const;
  bool stays_apart(int i, NodeId leader) const;

  const Graph& graph_;
  const PlaceOptions& options_;
  DeviceRequests requests_;
  std::vector<std::string> names_;
  std::vector<char> capable_;  // by root of a group, then by device
  OpTraitsTable traits_;
  std::vector<const OpTraits*> traits_of_;        // by node
  std::vector<NodeId> sources_;                   // stateful nodes without inputs: handles are among them
  std::unordered_map<int, std::string> refused_;  // by root of a group: the first kernel's reason
  std::vector<int> homes_;                        // by root of a group, -1: none; empty when none has one
};

// The error of a node that no device can take. `hint`: what to do; "" is the usual.
Status cannot_place(const Node& node, const std::string& why, const std::string& hint = "");

}  // namespace argosy
