#include "argosy/strategy/data_parallel/copies/pinned_device.h"

namespace argosy {

DeviceName pinned(const std::string& device) {
  DeviceName found;
  for (const std::string& part : str_split(device, ';')) {
    auto name = DeviceName::parse(part);
    if (name.ok()) found = name->filled_from(found);
  }
  return found;
}

}  // namespace argosy
