// MadeOnDevice: on which device a node of a session has made its own resource, whose name no other node knows. All steps
// of the session place the node there (argosy/runtime/compile/resource_homes.h).
#pragma once

#include <string>
#include <string_view>

#include "argosy/op/state/resource_manager.h"

namespace argosy {

// A second base class of resources in the session's own manager. Thread-safe.
class MadeOnDevice {
 public:
  // Container and name of such a resource in the session's manager. `container`, `shared`: the node's attributes.
  static constexpr const char* kContainer = "made_on_device";
  static std::string name_of(std::string_view container, std::string_view shared, std::string_view node) {
    std::string name(container.empty() ? std::string_view("localhost") : container);
    for (const std::string_view part : {shared, node}) name.append("\n").append(part);
    return name;
  }

  virtual ~MadeOnDevice() = default;
  // The resources of the device; null: nothing was made. Only to be compared: that manager may no longer exist.
  virtual const ResourceManager* manager() const = 0;
};

}  // namespace argosy
