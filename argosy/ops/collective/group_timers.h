// The timers of collectives' time-outs: one thread for all groups of a set of devices.
#pragma once

#include <memory>
#include <string>

#include "argosy/base/threads/timers.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy {

// Steps' groups hold a reference, since a reset of containers may drop it from its container while steps run.
class GroupTimers final : public Resource {
 public:
  std::string describe() const override { return "timers of collectives"; }
  Timers timers;

  static Result<std::shared_ptr<GroupTimers>> of(ResourceManager& resources) {
    return resources.find_or_make<GroupTimers>("_collective", "timers", [] { return std::make_shared<GroupTimers>(); });
  }
};

}  // namespace argosy
