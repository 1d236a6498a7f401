// The NetGroup of the tasks of this process's job: a resource of its devices. Kernels of collectives with ranks on
// several tasks find it there.
#pragma once

#include <memory>
#include <string>

#include "argosy/comm/net/net_group.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/collective/net_attr.h"

namespace argosy {

inline constexpr const char* kTaskNetContainer = "_collective";
inline constexpr const char* kTaskNetName = "tasks";

class TaskNet final : public Resource {
 public:
  explicit TaskNet(std::shared_ptr<NetGroup> group) : group_(std::move(group)) {}
  std::string describe() const override { return str_cat("the group of ", group_->size(), " tasks"); }
  const std::shared_ptr<NetGroup>& group() const { return group_; }

 private:
  const std::shared_ptr<NetGroup> group_;
};

// Registers the group with the resources of one device, where kernels find it.
inline Status set_task_net(ResourceManager& resources, const std::shared_ptr<NetGroup>& group) {
  return resources
      .find_or_make<TaskNet>(kTaskNetContainer, kTaskNetName, [&] { return std::make_shared<TaskNet>(group); })
      .status();
}

// FAILED_PRECONDITION ARG-COMM-028: the process is no task of a job.
inline Result<std::shared_ptr<NetGroup>> task_net(const ResourceManager& resources) {
  auto found = resources.find<TaskNet>(kTaskNetContainer, kTaskNetName);
  if (found.ok()) return (*found)->group();
  return failed_precondition("a collective over several tasks, in a process that has no connection to them")
      .with_id("ARG-COMM-028")
      .with_hint("start it with argosy launch, mpirun, srun or torchrun");
}

}  // namespace argosy
