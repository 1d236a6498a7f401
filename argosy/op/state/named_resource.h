// Resources that a node makes and keeps: queues, accumulators, tables, readers. Under "shared_name" every node of a
// device that asks for it finds the same one; without, it is the node's own, in its session alone
// (unless "use_node_name_sharing" makes the node's name one).
#pragma once

#include <string>
#include <utility>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

class NamedResource {
 public:
  // From the attributes "container" and "shared_name" of the op.
  explicit NamedResource(const KernelInit& init);

  const std::string& name() const { return name_; }

  // A handle to it, made by `make` when there is none. `manager`: of the device the kernel runs on. INVALID_ARGUMENT
  // when the name belongs to something else.
  template <typename T>
  Result<std::shared_ptr<T>> find_or_make(ResourceManager& manager, const std::function<std::shared_ptr<T>()>& make) {
    return where(manager).find_or_make<T>(container_, name_, make);
  }
  template <typename T>
  Tensor handle(std::shared_ptr<T> resource) const {
    return Tensor::scalar(ResourceHandle(container_, name_, std::move(resource)));
  }

 private:
  ResourceManager& where(ResourceManager& manager) const { return own_ != nullptr ? *own_ : manager; }
  std::string container_, name_;
  std::shared_ptr<ResourceManager> own_;  // the session's, for what has no shared name
};

}  // namespace argosy
