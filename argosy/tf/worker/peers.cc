#include "argosy/tf/worker/peers.h"

#include "argosy/device/name.h"

namespace argosy::tf {

Result<std::shared_ptr<RpcChannel>> Peers::channel(const TaskName& task) {
  const std::string* const address = cluster_.address(task);
  if (address == nullptr) {
    return invalid_argument("the cluster has no task ", task, ": it has ", str_join(cluster_.tasks()))
        .with_id("ARG-CLUSTER-010")
        .with_hint("start every task with the same --cluster");
  }
  MutexLock lock(mutex_);
  std::shared_ptr<RpcChannel>& channel = channels_[task];
  if (channel == nullptr) {
    channel = std::make_shared<RpcChannel>(RpcChannelOptions{.address = *address,
                                                             .peer = task.to_string(),
                                                             .cert_pem = credentials_.cert,
                                                             .key_pem = credentials_.key,
                                                             .ca_pem = credentials_.ca});
  }
  return channel;
}

Result<TaskName> task_of(std::string_view device) {
  const auto name = DeviceName::parse(device);
  if (!name.ok() || name->job.empty() || !name->task) {
    return invalid_argument("\"", device.substr(0, 200), "\" names no task").with_id("ARG-CLUSTER-010");
  }
  return TaskName{name->job, *name->task};
}

}  // namespace argosy::tf
