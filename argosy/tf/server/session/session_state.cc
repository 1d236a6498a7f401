#include "argosy/tf/server/session/session_state.h"

#include <algorithm>
#include <set>

#include "argosy/device/event.h"
#include "argosy/op/state/session_op_state.h"
#include "argosy/strategy/data_parallel/step_equivalence.h"

namespace argosy::tf {

namespace {

// Into a variable's own memory, whatever the device.
Status write(Device& device, Variable& variable, const std::string& name, const Tensor& from) {
  return variable.update(name, [&](Tensor& value) -> Status {
    if (value.dtype() != from.dtype() || value.shape() != from.shape()) {
      return internal_error("'", name, "' has another shape than it had");
    }
    if (value.bytes() == 0) return ok_status();
    LaunchQueue* const queue = device.launch_queue();
    if (queue == nullptr) {
      copy_elements(value, from);
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(const Event there,
                            queue->copy_in(Buffer::borrow(static_cast<std::byte*>(value.raw()), value.bytes()),
                                           Buffer::borrow(static_cast<std::byte*>(from.raw()), from.bytes())));
    ARGOSY_RETURN_IF_ERROR(queue->wait(there));
    if (there.state() != nullptr) there.state()->wait();
    return queue->failure();
  });
}

void add_pieces(const std::string& name, const std::vector<Tensor>& contents, SessionState::Values& to) {
  for (std::size_t i = 0; i < contents.size(); ++i) to.emplace(str_cat(name, "[", i, "]"), contents[i]);
  // So that one piece more or less is seen, too.
  to.emplace(str_cat(name, " (how many pieces)"), Tensor::scalar(static_cast<std::int64_t>(contents.size())));
}

}  // namespace

std::string_view original_of(std::string_view name) {
  const std::size_t at = name.rfind("/replica_");
  if (at == name.npos) return name;
  const std::string_view number = name.substr(at + 9);
  const bool digits = !number.empty() &&
                      std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? name.substr(0, at) : name;
}

Result<SessionState> SessionState::snapshot(Session& session, bool containers) {
  SessionState state(session);
  DeviceSet& device_set = session.device_set();
  for (int d = 0; d < device_set.size(); ++d) {
    for (const auto& [name, resource] : device_set.resources(d).list()) {
      ARGOSY_RETURN_IF_ERROR(state.add(name, resource, d, containers));
    }
  }
  // Streams of random numbers, and resources without a name.
  for (const auto& [name, resource] : session.op_state().list(kSessionOpState)) {
    ARGOSY_RETURN_IF_ERROR(state.add(name, resource, 0, true));
  }
  if (containers) {
    for (const auto& [name, resource] : session.op_state().list("localhost")) {
      ARGOSY_RETURN_IF_ERROR(state.add(name, resource, 0, true));
    }
  }
  return state;
}

Status SessionState::add(const std::string& name, const std::shared_ptr<Resource>& resource, int device,
                         bool containers) {
  if (const auto variable = std::dynamic_pointer_cast<Variable>(resource)) {
    if (original_of(name) != name) return ok_status();
    Held held{.name = name, .device = device, .variable = variable};
    if (variable->initialized()) {
      ARGOSY_ASSIGN_OR_RETURN(held.value, variable->read(name));
    }
    variables_.push_back(std::move(held));
    return ok_status();
  }
  const auto* const restorable = dynamic_cast<const Restorable*>(resource.get());
  if (restorable == nullptr || !containers) return ok_status();
  Other other{.name = name, .resource = resource};
  ARGOSY_ASSIGN_OR_RETURN(other.put_back, restorable->snapshot());
  ARGOSY_ASSIGN_OR_RETURN(other.contents, restorable->contents());
  others_.push_back(std::move(other));
  return ok_status();
}

bool SessionState::is_changed(const Held& held) {
  const Result<Tensor> now = held.variable->read(held.name);
  if (!now.ok() || !held.value.valid()) return now.ok() != held.value.valid();
  // A write goes to other memory while this is held.
  return now->raw() != held.value.raw() || now->shape() != held.value.shape();
}

Status SessionState::put_back() const {
  std::set<int> written;
  for (const Held& held : variables_) {
    if (!is_changed(held)) continue;
    written.insert(held.device);
    if (!held.value.valid()) {
      (void)held.variable->take();
    } else {
      ARGOSY_RETURN_IF_ERROR(held.variable->assign(held.value, false));
    }
  }
  // A GPU only enqueues: another GPU that reads these variables first in the next step would not wait for it.
  for (const int d : written) ARGOSY_RETURN_IF_ERROR(session_->device_set().device(d).synchronize());
  for (const Other& other : others_) ARGOSY_RETURN_IF_ERROR(other.put_back());
  return ok_status();
}

Status SessionState::perturb(const Values& names, DType computed_in, int run) const {
  for (const Held& held : variables_) {
    const DType dtype = held.variable->dtype();
    if (!held.value.valid() || !names.contains(held.name) ||
        (!is_floating(dtype) && dtype != DType::kComplex64 && dtype != DType::kComplex128)) {
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(const Tensor value, on_host(held, held.value));
    ARGOSY_RETURN_IF_ERROR(write(session_->device_set().device(held.device), *held.variable, held.name,
                                 argosy::perturbed(value, computed_in, run)));
  }
  return ok_status();
}

Result<Tensor> SessionState::on_host(const Held& held, const Tensor& value) const {
  if (!value.valid() || !is_plain(value.dtype())) return value;
  Allocator& memory = session_->device_set().device(held.device).allocator();
  if (memory.on_host()) return value.clone();
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(value.dtype(), value.shape(), host_allocator()));
  if (value.bytes() > 0) ARGOSY_RETURN_IF_ERROR(memory.copy_out(there.raw(), value.raw(), value.bytes()));
  return there;
}

// A replica's own stream of random numbers is a mirror of the original's.
Status SessionState::add_others(Values& values) const {
  for (const Other& other : others_) {
    if (original_of(other.name) != other.name) continue;
    ARGOSY_ASSIGN_OR_RETURN(const auto contents, dynamic_cast<const Restorable&>(*other.resource).contents());
    add_pieces(other.name, contents, values);
  }
  return ok_status();
}

Result<SessionState::Values> SessionState::changed() const {
  Values values;
  for (const Held& held : variables_) {
    if (!is_changed(held)) continue;
    Tensor& value = values[held.name];
    if (!held.variable->initialized()) continue;
    ARGOSY_ASSIGN_OR_RETURN(value, held.variable->read_to_host(held.name));
  }
  ARGOSY_RETURN_IF_ERROR(add_others(values));
  return values;
}

Result<SessionState::Values> SessionState::now(const Values& names) const {
  Values values;
  for (const Held& held : variables_) {
    if (!names.contains(held.name) || !held.variable->initialized()) continue;
    ARGOSY_ASSIGN_OR_RETURN(values[held.name], held.variable->read_to_host(held.name));
  }
  ARGOSY_RETURN_IF_ERROR(add_others(values));
  return values;
}

Result<SessionState::Values> SessionState::before(const Values& names) const {
  Values values;
  for (const Held& held : variables_) {
    if (!names.contains(held.name) || !held.value.valid()) continue;
    ARGOSY_ASSIGN_OR_RETURN(values[held.name], on_host(held, held.value));
  }
  return values;
}

Result<std::vector<SessionState::Mirror>> SessionState::mirrors(const Values& names) const {
  std::vector<Mirror> found;
  DeviceSet& device_set = session_->device_set();
  for (int d = 0; d < device_set.size(); ++d) {
    for (const auto& [name, resource] : device_set.resources(d).list()) {
      const std::string original(original_of(name));
      if (original == name || !names.contains(original)) continue;
      const auto variable = std::dynamic_pointer_cast<Variable>(resource);
      if (variable == nullptr || !variable->initialized()) continue;
      ARGOSY_ASSIGN_OR_RETURN(Tensor value, variable->read_to_host(name));
      found.push_back({original, device_set.device(d).spec().name.short_string(), std::move(value)});
    }
  }
  return found;
}

}  // namespace argosy::tf
