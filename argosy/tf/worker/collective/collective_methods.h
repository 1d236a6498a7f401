// WorkerService's methods for collectives between tasks: CompleteGroup, CompleteInstance, GetStepSequence, RecvBuf. They
// wait without a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/worker/collective/task_collectives.h"

namespace argosy::tf {

// `task`: this one, for errors. `check_sender`: an error where the device of that name and incarnation is not this
// task's.
std::vector<RpcMethod> collective_methods(
    const std::shared_ptr<TaskCollectives>& collectives, const std::string& task,
    const std::function<Status(const std::string& device, std::uint64_t incarnation)>& check_sender);

}  // namespace argosy::tf
