#include "argosy/tf/server/replication/slot_tracker.h"

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

Result<SlotTracker::Slot*> SlotTracker::slot_named(const ResourceName& name) {
  Slot& slot = slots_[name];
  if (slot.variable != nullptr) return &slot;
  for (int d = 0; d < device_set_->size(); ++d) {
    auto found = device_set_->resources(d).find<Variable>(name.first, name.second);
    if (!found.ok()) continue;
    if (slot.variable != nullptr) {
      slot.variable = nullptr;
      return failed_precondition("the slot '", name.second, "' is on several devices");
    }
    slot.variable = *std::move(found);
    slot.device = d;
  }
  if (slot.variable == nullptr) return failed_precondition("the slot '", name.second, "' has no value yet");
  return &slot;
}

Status SlotTracker::shard(ReplicatedStep& step) {
  std::map<ResourceName, Tensor> values;
  for (const ResourceName& name : step.sharded_slots()) {
    ARGOSY_ASSIGN_OR_RETURN(Slot* const slot, slot_named(name));
    if (slot->holder != nullptr) continue;
    ARGOSY_ASSIGN_OR_RETURN(values[name], slot->variable->read_to_host(name.second));
  }
  if (values.empty()) return ok_status();
  ARGOSY_RETURN_IF_ERROR(step.write_slots(values));
  for (const auto& [name, value] : values) {
    Slot& slot = slots_[name];
    slot.holder = &step;
    (void)slot.variable->take();
  }
  return ok_status();
}

Status SlotTracker::gather(const ResourceName& name, Slot& slot) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor value, slot.holder->read_slot(name));
  Device& device = device_set_->device(slot.device);
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(value.dtype(), value.shape(), device.allocator()));
  ARGOSY_RETURN_IF_ERROR(copy_to(device, there, value));
  ARGOSY_RETURN_IF_ERROR(slot.variable->assign(there, false));
  ARGOSY_RETURN_IF_ERROR(device.synchronize());  // before another GPU reads it: a GPU only enqueues
  slot.holder = nullptr;
  return ok_status();
}

Status SlotTracker::gather(const std::set<ResourceName>& names) {
  for (auto& [name, slot] : slots_) {
    if (slot.holder != nullptr && names.contains(name)) ARGOSY_RETURN_IF_ERROR(gather(name, slot));
  }
  return ok_status();
}

Status SlotTracker::gather_all() {
  for (auto& [name, slot] : slots_) {
    if (slot.holder != nullptr) ARGOSY_RETURN_IF_ERROR(gather(name, slot));
  }
  return ok_status();
}

bool SlotTracker::ever_sharded(const std::set<ResourceName>& names) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& entry) { return names.contains(entry.first); });
}

}  // namespace argosy::tf
