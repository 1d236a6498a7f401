// WorkerService's methods for collectives between tasks: CompleteGroup, CompleteInstance, GetStepSequence, RecvBuf. A
// waiting call holds no thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/worker/collective/task_collectives.h"

namespace argosy::tf {

// `task`: this task's name, for errors. `check_sender`: returns an error if no device of this task has that name and
// incarnation.
std::vector<RpcMethod> collective_methods(
    const std::shared_ptr<TaskCollectives>& collectives, const std::string& task,
    const std::function<Status(const std::string& device, std::uint64_t incarnation)>& check_sender);

}  // namespace argosy::tf
