// State that an op keeps between its runs: one state for all steps of a session, found by the node's name. It does not
// depend on the shapes, or on the other nodes of a step. In TensorFlow a session keeps the kernels of such ops.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy {

// T is a Resource, and thread-safe. Of the node that the kernel is made for; outside a session the kernel's own.
template <typename T>
std::shared_ptr<T> session_op_state(const KernelInit& init, const std::function<std::shared_ptr<T>()>& make) {
  if (init.session != nullptr) {
    auto found = init.session->find_or_make<T>("session_op_state", std::string(init.node), make);
    if (found.ok()) return *std::move(found);
  }
  return make();
}

}  // namespace argosy
