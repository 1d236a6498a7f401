// State that an op keeps between its runs: one state for all steps of a session, found by the node's name. It does not
// depend on the shapes, or on the other nodes of a step. In TensorFlow a session keeps the kernels of such ops. Within a
// body that a kernel calls, as a dataset does, it is the call's own: argosy/runtime/session/function_calls.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy {

// The container of such states. Who sets a session's state aside lists it.
inline constexpr const char* kSessionOpState = "session_op_state";

// T is a Resource, and thread-safe. Of the node that the kernel is made for; outside a session the kernel's own.
// Kernels of a plug-in may share a T with those of the program. Such a T stands outside of unnamed namespaces: within one
// it is another type in each of them. INVALID_ARGUMENT tells so.
template <typename T>
Result<std::shared_ptr<T>> session_op_state(const KernelInit& init, const std::function<std::shared_ptr<T>()>& make) {
  if (init.session == nullptr) return make();
  return init.session->find_or_make<T>(kSessionOpState, std::string(init.node), make);
}

}  // namespace argosy
