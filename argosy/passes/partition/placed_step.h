// PlacedStep: a step and the devices of its nodes, while the partition pass prepares the cut. Internal to
// argosy/passes/partition.
#pragma once

#include <string>
#include <vector>

#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

class PlacedStep {
 public:
  // `own_device` as PartitionOptions.
  PlacedStep(StepGraph step, const DevicePlacement& placement, const std::string& own_device);

  StepGraph step;
  Graph& graph() { return step.graph; }
  const Graph& graph() const { return step.graph; }

  int tasks() const { return static_cast<int>(task_names_.size()); }  // task 0 is the own one
  const std::string& task_name(int task) const { return task_names_[static_cast<std::size_t>(task)]; }
  // The first device of a task, which is its CPU where it has one: for what belongs to the task as a whole.
  int host_of(int task) const { return hosts_[static_cast<std::size_t>(task)]; }
  int device(NodeId id) const { return device_[static_cast<std::size_t>(id.index)]; }
  int task(NodeId id) const { return task_of_device_[static_cast<std::size_t>(device(id))]; }
  const std::string& device_name(int device) const { return device_names_[static_cast<std::size_t>(device)]; }
  void move(NodeId id, int device) { device_[static_cast<std::size_t>(id.index)] = device; }
  // True for a constant, a feed or a handle: no instruction computes it, and it is available in every frame.
  bool is_everywhere(NodeId id) const;
  // True if such a node is a handle. REQUIRES: is_everywhere(id).
  bool is_handle(NodeId id) const;
  // Adds a node on this device. Makes its name unique. REQUIRES: complete attributes.
  Result<NodeId> add(NodeSpec spec, int device);
  // Adds a copy of a node on this device, with the same inputs and control inputs.
  Result<NodeId> copy(NodeId id, int device);

 private:
  std::vector<int> device_;                // by node
  std::vector<char> is_feed_;              // by node; nodes beyond its end are no feeds
  std::vector<std::string> device_names_;  // by device
  std::vector<int> task_of_device_;        // by device
  std::vector<std::string> task_names_;    // by task
  std::vector<int> hosts_;                 // by task: a device
};

}  // namespace argosy
