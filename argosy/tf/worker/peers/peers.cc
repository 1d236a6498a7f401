#include "argosy/tf/worker/peers/peers.h"

#include "argosy/base/guard.h"
#include "argosy/device/name.h"

namespace argosy::tf {

namespace {
constexpr std::chrono::milliseconds kBetweenLooks{1000};
}

Peers::~Peers() {
  std::thread watch;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    watch = std::move(watch_);
  }
  if (watch.joinable()) watch.join();
}

void Peers::watch() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    (void)changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kBetweenLooks);
    for (const auto& [task, channel] : channels_) channel->look();
  }
}

Result<std::shared_ptr<PeerChannel>> Peers::channel(const TaskName& task) {
  const std::string* const address = cluster_.address(task);
  if (address == nullptr) {
    return invalid_argument("the cluster has no task ", task, ": it has ", str_join(cluster_.tasks()))
        .with_id("ARG-CLUSTER-010")
        .with_hint("start every task with the same --cluster");
  }
  // Callers have threads of their own, where nothing may be thrown.
  return guarded([&]() -> Result<std::shared_ptr<PeerChannel>> {
    MutexLock lock(mutex_);
    if (!watch_.joinable()) watch_ = std::thread([this] { watch(); });
    std::shared_ptr<PeerChannel>& channel = channels_[task];
    if (channel == nullptr) {
      channel = std::make_shared<PeerChannel>(RpcChannelOptions{.address = *address,
                                                                .peer = task.to_string(),
                                                                .cert_pem = credentials_.cert,
                                                                .key_pem = credentials_.key,
                                                                .ca_pem = credentials_.ca});
    }
    return channel;
  });
}

Result<TaskName> task_of(std::string_view device) {
  const auto name = DeviceName::parse(device);
  if (!name.ok() || name->job.empty() || !name->task) {
    return invalid_argument("\"", device.substr(0, 200), "\" names no task").with_id("ARG-CLUSTER-010");
  }
  return TaskName{name->job, *name->task};
}

}  // namespace argosy::tf
