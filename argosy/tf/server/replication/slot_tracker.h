// SlotTracker: with ZeRO-1, tracks where each optimizer slot of a session is, and moves it. Internal to the session
// server.
//
//   gathered  The client's variable holds the value. So it is after initialising and restoring, and for other steps.
//   sharded   Every device holds a shard. The client's variable has no memory. So it is between replicated steps.
//
//   a replicated step ──► shard(its slots)        any other step ──► gather(the slots that it uses)
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "argosy/op/state/variable.h"
#include "argosy/runtime/compile/resource_homes.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy::tf {

class ReplicatedStep;

// Not thread-safe. Call it only while no step of the session uses a slot.
class SlotTracker {
 public:
  explicit SlotTracker(std::shared_ptr<DeviceSet> device_set) : device_set_(std::move(device_set)) {}

  // Shards the slots of this step that are gathered. FAILED_PRECONDITION: one has no value yet, or lives on several
  // devices: a name on each device is another variable.
  Status shard(ReplicatedStep& step);
  // Gathers those of these variables that are sharded.
  Status gather(const std::set<ResourceName>& names);
  Status gather_all();
  // True if one of these was ever sharded. A step that uses it must not run concurrently with a replicated step.
  bool ever_sharded(const std::set<ResourceName>& names) const;

 private:
  struct Slot {
    std::shared_ptr<Variable> variable;
    int device = 0;
    ReplicatedStep* holder = nullptr;  // the step that holds its shards; null: it is gathered
  };
  Result<Slot*> slot_named(const ResourceName& name);
  Status gather(const ResourceName& name, Slot& slot);

  const std::shared_ptr<DeviceSet> device_set_;
  std::map<ResourceName, Slot> slots_;  // by the variable
};

}  // namespace argosy::tf
