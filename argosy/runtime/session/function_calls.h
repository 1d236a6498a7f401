// The functions of a step's graph, for kernels that call them. Every body is a step of its own: its parameters are fed,
// its returns are fetched, and all of it runs on the host's CPU.
#pragma once

#include <memory>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/function_call.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Shares the functions of `graph`, which may go; `device_set` and `kernels` must outlive it and every call made from
// it. `session`: what ops of the step's session keep between runs. What ops of a body keep is the call's own: see
// FunctionCall::anew().
std::shared_ptr<FunctionCalls> make_function_calls(const Graph& graph, DeviceSet& device_set,
                                                   const KernelRegistry& kernels,
                                                   std::shared_ptr<ResourceManager> session = nullptr);

}  // namespace argosy
