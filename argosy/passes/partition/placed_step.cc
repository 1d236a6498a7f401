#include "argosy/passes/partition/placed_step.h"

#include <algorithm>

#include "argosy/passes/partition/partition.h"

namespace argosy {

std::string task_of_device(const std::string& device) { return device.substr(0, device.rfind("/device:")); }

PlacedStep::PlacedStep(StepGraph whole, const DevicePlacement& placement, const std::string& own_device)
    : step(std::move(whole)), device_(placement.device), device_names_(placement.device_name) {
  task_names_.push_back(task_of_device(own_device));
  hosts_.push_back(0);
  is_feed_.assign(static_cast<std::size_t>(graph().size()), 0);
  for (const NodeId feed : step.feeds) is_feed_[static_cast<std::size_t>(feed.index)] = 1;
  for (const std::string& device : device_names_) {
    const std::string task = task_of_device(device);
    const auto found = std::find(task_names_.begin(), task_names_.end(), task);
    const auto number = static_cast<int>(found - task_names_.begin());
    if (found == task_names_.end()) {
      task_names_.push_back(task);
      hosts_.push_back(static_cast<int>(task_of_device_.size()));
    } else if (device == own_device) {
      hosts_[0] = static_cast<int>(task_of_device_.size());
    }
    task_of_device_.push_back(number);
  }
}

bool PlacedStep::is_handle(NodeId id) const {
  const Node& n = graph().node(id);
  return n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource;
}

bool PlacedStep::is_everywhere(NodeId id) const {
  const Node& n = graph().node(id);
  if (!n.inputs.empty() || n.output_dtypes.size() != 1) return false;
  const auto i = static_cast<std::size_t>(id.index);
  if (i < is_feed_.size() && is_feed_[i] != 0) return true;
  if (graph().constant({id, 0}) != nullptr) return n.controls.empty();
  return n.op->stateful && is_handle(id);
}

Result<NodeId> PlacedStep::add(NodeSpec spec, int device) {
  spec.name = graph().unique_name(spec.name);
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, graph().add_node(std::move(spec)));
  device_.resize(static_cast<std::size_t>(id.index) + 1);
  move(id, device);
  return id;
}

Result<NodeId> PlacedStep::copy(NodeId id, int device) {
  const Node& n = graph().node(id);
  return add({.name = std::string(n.name),
              .op = n.op->name,
              .inputs = {n.inputs.begin(), n.inputs.end()},
              .controls = {n.controls.begin(), n.controls.end()},
              .attrs = n.attrs,
              .device = std::string(n.device),
              .shapes = {n.output_shapes.begin(), n.output_shapes.end()}},
             device);
}

}  // namespace argosy
