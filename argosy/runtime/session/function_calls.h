// FunctionCalls: the functions of a step's graph, for kernels that call them. Every body is a step of its own: its
// parameters are fed, its returned values are fetched, and all of it runs on the host's CPU.
#pragma once

#include <memory>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/function_call.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Shares the functions of `graph`, which may then be destroyed; `device_set` and `kernels` must outlive the result and
// every call made from it. `session`: the state that ops of the step's session keep between runs. Each call keeps state
// of its own for the ops of its body: see FunctionCall::anew().
std::shared_ptr<FunctionCalls> make_function_calls(const Graph& graph, DeviceSet& device_set,
                                                   const KernelRegistry& kernels,
                                                   std::shared_ptr<ResourceManager> session = nullptr);

}  // namespace argosy
