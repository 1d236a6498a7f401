// NamedResource: the container and name of a resource that a node makes: a queue, accumulator, table or reader. Nodes
// of a device with equal "shared_name" share one resource. Without that name, the resource belongs to one node of one
// session. With "use_node_name_sharing" the node's name serves as the shared name.
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

  // Returns the resource; `make` creates it if there is none. `manager`: that of the kernel's device. INVALID_ARGUMENT:
  // the name belongs to a resource of another type.
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
  std::shared_ptr<ResourceManager> own_;  // the session's manager, if there is no shared name
};

}  // namespace argosy
