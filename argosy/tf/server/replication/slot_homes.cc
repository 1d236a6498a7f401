#include "argosy/tf/server/replication/slot_homes.h"

#include <algorithm>

#include "argosy/device/event.h"
#include "argosy/tf/server/replication/replicated_step.h"

namespace argosy::tf {

namespace {

// From the host's memory into the device's.
Status copy_to(Device& device, const Tensor& to, const Tensor& from) {
  LaunchQueue* const queue = device.launch_queue();
  if (queue == nullptr) {
    copy_elements(to, from);
    return ok_status();
  }
  if (from.bytes() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Event there,
                          queue->copy_in(Buffer::borrow(static_cast<std::byte*>(to.raw()), to.bytes()),
                                         Buffer::borrow(static_cast<std::byte*>(from.raw()), from.bytes())));
  ARGOSY_RETURN_IF_ERROR(queue->wait(there));
  if (there.state() != nullptr) there.state()->wait();
  return queue->failure();
}

}  // namespace

Result<SlotHomes::Home*> SlotHomes::home_of(const std::string& name) {
  Home& home = homes_[name];
  if (home.variable != nullptr) return &home;
  for (int d = 0; d < device_set_->size(); ++d) {
    for (const auto& [key, resource] : device_set_->resources(d).list()) {
      if (key != name) continue;
      if (auto variable = std::dynamic_pointer_cast<Variable>(resource)) {
        home.variable = std::move(variable);
        home.device = d;
        return &home;
      }
    }
  }
  return failed_precondition("the slot '", name, "' has no value yet");
}

Status SlotHomes::shard(ReplicatedStep& step) {
  std::map<std::string, Tensor> values;
  for (const std::string& name : step.sharded_slots()) {
    ARGOSY_ASSIGN_OR_RETURN(Home* const home, home_of(name));
    if (home->away != nullptr) continue;
    ARGOSY_ASSIGN_OR_RETURN(values[name], home->variable->read_to_host(name));
  }
  if (values.empty()) return ok_status();
  ARGOSY_RETURN_IF_ERROR(step.write_slots(values));
  for (const auto& [name, value] : values) {
    Home& home = homes_[name];
    home.away = &step;
    (void)home.variable->take();
  }
  return ok_status();
}

Status SlotHomes::bring_home(const std::string& name, Home& home) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor value, home.away->read_slot(name));
  Device& device = device_set_->device(home.device);
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(value.dtype(), value.shape(), device.allocator()));
  ARGOSY_RETURN_IF_ERROR(copy_to(device, there, value));
  ARGOSY_RETURN_IF_ERROR(home.variable->assign(there, false));
  ARGOSY_RETURN_IF_ERROR(device.synchronize());  // before another GPU reads it: a GPU only enqueues
  home.away = nullptr;
  return ok_status();
}

Status SlotHomes::bring_home(const std::set<std::string>& names) {
  for (auto& [name, home] : homes_) {
    if (home.away != nullptr && names.contains(name)) ARGOSY_RETURN_IF_ERROR(bring_home(name, home));
  }
  return ok_status();
}

Status SlotHomes::bring_all_home() {
  for (auto& [name, home] : homes_) {
    if (home.away != nullptr) ARGOSY_RETURN_IF_ERROR(bring_home(name, home));
  }
  return ok_status();
}

bool SlotHomes::knows(const std::set<std::string>& names) const {
  return std::any_of(homes_.begin(), homes_.end(), [&](const auto& entry) { return names.contains(entry.first); });
}

}  // namespace argosy::tf
