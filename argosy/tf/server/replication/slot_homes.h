// SlotHomes: where the optimizer's slots of a session are, with ZeRO-1. Internal to the session server.
//
//   at home   the client's own variable has the value: after initialising, restoring, and for every step but replicated ones
//   dealt out every device has a shard of it, and the client's variable no memory: while replicated steps follow each other
//
//   a replicated step ──► deal_out(its slots)        any other step ──► bring_home(the slots that it uses)
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "argosy/op/state/variable.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy::tf {

class ReplicatedStep;

// One thread at a time, while no step of the session uses a slot.
class SlotHomes {
 public:
  explicit SlotHomes(std::shared_ptr<DeviceSet> device_set) : device_set_(std::move(device_set)) {}

  // The slots of this step that are at home. FAILED_PRECONDITION: one has no value yet.
  Status deal_out(ReplicatedStep& step);
  // Of these variables, those that are dealt out.
  Status bring_home(const std::set<std::string>& names);
  Status bring_all_home();
  // One of these was ever dealt out: a step that uses it must not run beside a replicated one.
  bool knows(const std::set<std::string>& names) const;

 private:
  struct Home {
    std::shared_ptr<Variable> variable;
    int device = 0;
    ReplicatedStep* away = nullptr;  // a step that has its shards; null: it is at home
  };
  Result<Home*> home_of(const std::string& name);
  Status bring_home(const std::string& name, Home& home);

  const std::shared_ptr<DeviceSet> device_set_;
  std::map<std::string, Home> homes_;  // by the variable's name
};

}  // namespace argosy::tf
