#include "argosy/op/state/named_resource.h"

namespace argosy {

NamedResource::NamedResource(const KernelInit& init)
    : container_(init.attrs.get_or<std::string>("container", "")),
      name_(init.attrs.get_or<std::string>("shared_name", "")) {
  if (container_.empty()) container_ = "localhost";
  if (!name_.empty()) return;
  name_ = std::string(init.node);
  if (!init.attrs.get_or("use_node_name_sharing", false)) own_ = init.op_state;
}

}  // namespace argosy
