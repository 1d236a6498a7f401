#include "argosy/cluster/single_task.h"

#include "argosy/cluster/incarnation.h"

namespace argosy {

SingleTask::SingleTask(std::vector<std::string> devices)
    : tasks_{{.rank = 0,
              .host = host_name(),
              .address = "127.0.0.1:0",
              .incarnation = own_incarnation(),
              .devices = std::move(devices)}} {}

Status SingleTask::barrier(std::string_view, std::chrono::milliseconds) {
  const MutexLock lock(mutex_);
  return cause_;
}

Status SingleTask::fail(const Status& cause) {
  std::function<void(const Status&)> callback;
  Status first;
  {
    const MutexLock lock(mutex_);
    if (!cause_.ok()) return cause_;
    cause_ = cause;
    first = cause;
    callback = std::move(callback_);
    callback_ = nullptr;
  }
  store_.abort(first);
  if (callback) callback(first);
  return first;
}

void SingleTask::on_abort(std::function<void(const Status& cause)> callback) {
  Status first;
  {
    const MutexLock lock(mutex_);
    if (cause_.ok()) {
      callback_ = std::move(callback);
      return;
    }
    first = cause_;
  }
  callback(first);
}

}  // namespace argosy
