#include "argosy/runtime/machine.h"

namespace argosy {

Result<std::shared_ptr<Machine>> Machine::make(const DeviceRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(auto devices, make_devices(request));
  return std::make_shared<Machine>(std::move(devices));
}

Machine::Machine(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {
  for (std::size_t i = 0; i < devices_.size(); ++i) resources_.push_back(std::make_unique<ResourceManager>());
}

int Machine::find(const DeviceName& full) const {
  for (int i = 0; i < size(); ++i) {
    if (devices_[i]->spec().name == full) return i;
  }
  return -1;
}

std::vector<DeviceSpec> Machine::specs() const {
  std::vector<DeviceSpec> specs;
  for (const auto& d : devices_) specs.push_back(d->spec());
  return specs;
}

int Machine::num_gpus() const {
  int n = 0;
  for (const auto& d : devices_) n += d->spec().is_gpu() ? 1 : 0;
  return n;
}

void Machine::reset(const std::string& container) {
  for (const auto& r : resources_) r->clear(container);
}

}  // namespace argosy
