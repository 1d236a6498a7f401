// session_op_state(): state that a node keeps between its runs. All steps of a session share it, by the node's name,
// whatever their shapes and other nodes. (In TensorFlow a session keeps the kernels of such ops.) In a function that a
// kernel calls, as a dataset does, each call has its own state: argosy/runtime/session/function_calls.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy {

// The container of such states. Code that saves a session's state lists it.
inline constexpr const char* kSessionOpState = "session_op_state";

// Returns the state of the node that the kernel is made for; `make` creates it if there is none. Outside a session
// every call makes a new one. T is a thread-safe Resource. If kernels of a plug-in and of the program share a T, it
// must not be in an unnamed namespace. There it would be another type in each of them: INVALID_ARGUMENT.
template <typename T>
Result<std::shared_ptr<T>> session_op_state(const KernelInit& init, const std::function<std::shared_ptr<T>()>& make) {
  if (init.op_state == nullptr) return make();
  return init.op_state->find_or_make<T>(kSessionOpState, std::string(init.node), make);
}

}  // namespace argosy
