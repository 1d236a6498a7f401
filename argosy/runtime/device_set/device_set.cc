#include "argosy/runtime/device_set/device_set.h"

#include "argosy/base/guard.h"
#include "argosy/base/memory/host_budget.h"
#include "argosy/device/pool.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/device_set/memory_limits.h"

namespace argosy {

Result<std::shared_ptr<DeviceSet>> DeviceSet::make(const DeviceRequest& request) {
  return guarded([&]() -> Result<std::shared_ptr<DeviceSet>> {
    ARGOSY_ASSIGN_OR_RETURN(auto devices, make_devices(request));
    // A cap of the CPU also limits what the host holds beside its tensors.
    const DeviceSpec& host = devices[0]->spec();
    std::shared_ptr<void> limit;
    if (!host.is_gpu() && host.memory_limit_bytes > 0 && host.memory_limit_bytes < host_memory_bytes()) {
      limit = host_budget().with_limit(static_cast<std::int64_t>(host.memory_limit_bytes));
    }
    return std::shared_ptr<DeviceSet>(new DeviceSet(std::move(devices)),
                                      [limit](DeviceSet* device_set) { delete device_set; });
  });
}

DeviceSet::DeviceSet(std::vector<std::unique_ptr<Device>> devices)
    : devices_(std::move(devices)), memory_limits_(std::make_unique<MemoryLimits>()) {
  for (const auto& device : devices_) {
    arenas_.push_back(std::make_unique<Arenas>(device->allocator()));
    resources_.push_back(std::make_shared<ResourceManager>());
    if (device->launch_queue() == nullptr) continue;
    has_async_device_ = true;
    if (kernels_ != nullptr) continue;
    auto kernels = std::make_unique<KernelRegistry>(cpu_kernels());
    device->add_kernels(*kernels);
    kernels_ = std::move(kernels);
  }
}

const KernelRegistry& DeviceSet::kernels() const { return kernels_ != nullptr ? *kernels_ : cpu_kernels(); }

DeviceSet::DeviceSet(std::shared_ptr<DeviceSet> base, std::vector<std::unique_ptr<Device>> devices,
                     const std::vector<int>& origin, bool own_resources)
    : DeviceSet(std::move(devices)) {
  base_ = std::move(base);
  shares_resources_ = !own_resources;
  for (std::size_t i = 0; i < origin.size() && !own_resources; ++i) {
    resources_[i] = base_->resources_[static_cast<std::size_t>(origin[i])];
  }
}

DeviceSet::~DeviceSet() {
  // First of all: this ends the threads of iterators, which may still use any member.
  if (!shares_resources_) reset();
}

int DeviceSet::find(const DeviceName& full) const {
  for (int i = 0; i < size(); ++i) {
    if (devices_[i]->spec().name == full) return i;
  }
  return -1;
}

std::vector<DeviceSpec> DeviceSet::specs() const {
  std::vector<DeviceSpec> specs;
  for (const auto& d : devices_) specs.push_back(d->spec());
  return specs;
}

int DeviceSet::num_gpus() const {
  int n = 0;
  for (const auto& d : devices_) n += d->spec().is_gpu() ? 1 : 0;
  return n;
}

Result<Tensor> DeviceSet::constant_on(int i, const Tensor& value) {
  const Buffer from = value.buffer();
  MutexLock lock(constants_mutex_);
  Copied& known = constants_[{i, from.data()}];
  // Another value may be a prefix of the same buffer: the longest copy is kept.
  const bool reaches = known.bytes >= value.bytes();
  if (const auto to = known.to.lock(); to && reaches && from.owned() && known.from.lock() == from.owner()) {
    return Tensor(value.dtype(), value.shape(), Buffer(to, known.data, value.bytes()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(value.dtype(), value.shape(), device(i).allocator()));
  device(i).copies().copy(there.buffer(), from.part(0, value.bytes()));
  ARGOSY_RETURN_IF_ERROR(device(i).copies().synchronize());
  known = {from.owner(), there.buffer().owner(), there.buffer().data(), value.bytes()};
  std::erase_if(constants_, [](const auto& entry) { return entry.second.to.expired(); });
  return there;
}

void DeviceSet::set_files(FilePolicy files) {
  MutexLock lock(outside_mutex_);
  files_ = std::make_shared<const FilePolicy>(std::move(files));
}

std::shared_ptr<const FilePolicy> DeviceSet::files() const {
  {
    MutexLock lock(outside_mutex_);
    if (files_ != nullptr) return files_;
  }
  return base_ != nullptr ? base_->files() : nullptr;
}

void DeviceSet::set_host_callbacks(std::shared_ptr<HostCallbacks> calls) {
  MutexLock lock(outside_mutex_);
  host_callbacks_ = std::move(calls);
}

std::shared_ptr<HostCallbacks> DeviceSet::host_callbacks() const {
  {
    MutexLock lock(outside_mutex_);
    if (host_callbacks_ != nullptr) return host_callbacks_;
  }
  return base_ != nullptr ? base_->host_callbacks() : nullptr;
}

void DeviceSet::reset(const std::string& container) {
  for (const auto& r : resources_) r->clear(container);
}

}  // namespace argosy
