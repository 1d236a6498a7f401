// PlacedStep: a step and where its nodes are, while it is prepared for being cut. Internal to argosy/passes/partition.
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

  int tasks() const { return static_cast<int>(task_names_.size()); }  // 0: the own one
  const std::string& task_name(int task) const { return task_names_[static_cast<std::size_t>(task)]; }
  // The first device of a task, which is its CPU where it has one: for what belongs to the task as a whole.
  int host_of(int task) const { return hosts_[static_cast<std::size_t>(task)]; }
  int device(NodeId id) const { return device_[static_cast<std::size_t>(id.index)]; }
  int task(NodeId id) const { return task_of_device_[static_cast<std::size_t>(device(id))]; }
  const std::string& device_name(int device) const { return device_names_[static_cast<std::size_t>(device)]; }
  void move(NodeId id, int device) { device_[static_cast<std::size_t>(id.index)] = device; }
  // Is it a constant, a feed or a handle, which no instruction computes, and which is there in every frame of loops?
  bool is_everywhere(NodeId id) const;
  // Of such a node: is it a handle?
  bool is_handle(NodeId id) const;
  // Adds a node on this device. Its name is made unique, its attributes are complete.
  Result<NodeId> add(NodeSpec spec, int device);
  // A copy of a node, on this device, with these inputs.
  Result<NodeId> copy(NodeId id, int device);

 private:
  std::vector<int> device_;                // by node
  std::vector<char> is_feed_;              // by node, as far as it goes
  std::vector<std::string> device_names_;  // by device
  std::vector<int> task_of_device_;        // by device
  std::vector<std::string> task_names_;    // by task
  std::vector<int> hosts_;                 // by task: a device
};

}  // namespace argosy
