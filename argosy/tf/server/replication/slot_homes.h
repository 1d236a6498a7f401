// SlotHomes: with ZeRO-1, tracks where each optimizer slot of a session is, and moves it. Internal to the session
// server.
//
//   at home    the client's variable holds the value: after initialising and restoring, and for other steps
//   dealt out  every device holds a shard, and the client's variable has no memory: between replicated steps
//
//   a replicated step ──► shard(its slots)        any other step ──► bring_home(the slots that it uses)
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "argosy/op/state/variable.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy::tf {

class ReplicatedStep;

// Not thread-safe. Call it only while no step of the session uses a slot.
class SlotHomes {
 public:
  explicit SlotHomes(std::shared_ptr<DeviceSet> device_set) : device_set_(std::move(device_set)) {}

  // Deals out the slots of this step that are at home. FAILED_PRECONDITION: one has no value yet.
  Status shard(ReplicatedStep& step);
  // Brings those of these variables home that are dealt out.
  Status bring_home(const std::set<std::string>& names);
  Status bring_all_home();
  // True if one of these was ever dealt out. A step that uses it must not run concurrently with a replicated step.
  bool knows(const std::set<std::string>& names) const;

 private:
  struct Home {
    std::shared_ptr<Variable> variable;
    int device = 0;
    ReplicatedStep* away = nullptr;  // the step that holds its shards; null: it is at home
  };
  Result<Home*> home_of(const std::string& name);
  Status bring_home(const std::string& name, Home& home);

  const std::shared_ptr<DeviceSet> device_set_;
  std::map<std::string, Home> homes_;  // by the variable's name
};

}  // namespace argosy::tf
