#include "argosy/runtime/device_set/device_set_view.h"

#include <map>

#include "argosy/runtime/device_set/memory_limits.h"

namespace argosy {

namespace {

// Another name, cap and thread budget of a device.
class DeviceView final : public Device {
 public:
  DeviceView(DeviceSet& device_set, const DeviceSetView::Part& part, DeviceSpec spec)
      : device_set_(device_set), part_(part), device_(device_set.device(part.device)), spec_(std::move(spec)) {
    if (part.limit_bytes > 0) {
      cap_ = device_set.memory_limits().take(part.device, part.limit_bytes, spec_.said_name(), device_.allocator());
    }
  }
  ~DeviceView() override {
    if (cap_ != nullptr) device_set_.memory_limits().give_back(part_.device, part_.limit_bytes, cap_);
  }

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return cap_ != nullptr ? *cap_ : device_.allocator(); }
  Stream& compute() override { return device_.compute(); }
  Stream& copies() override { return device_.copies(); }
  Stream& communication() override { return device_.communication(); }
  KernelObserver* observer() override { return device_.observer(); }
  std::string_view kernel_kind() const override { return device_.kernel_kind(); }
  void add_kernels(KernelRegistry& kernels) const override { device_.add_kernels(kernels); }
  LaunchQueue* launch_queue() override { return device_.launch_queue(); }
  Device& physical() override { return device_.physical(); }
  Status synchronize() override { return device_.synchronize(); }

 private:
  DeviceSet& device_set_;  // kept alive by the view
  const DeviceSetView::Part part_;
  Device& device_;
  const DeviceSpec spec_;
  CappedAllocator* cap_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<DeviceSet>> view_device_set(const std::shared_ptr<DeviceSet>& device_set,
                                                   const DeviceSetView& view) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<int> origin;
  std::map<std::string, int> numbers;
  for (const DeviceSetView::Part& part : view.parts) {
    if (part.device < 0 || part.device >= device_set->size())
      return invalid_argument("there is no device ", part.device);
    const Device& device = device_set->device(part.device);
    DeviceSpec spec = device.spec();
    if (devices.empty() && spec.is_gpu()) return invalid_argument("a view begins with a CPU");
    if (spec.is_gpu() && spec.number < 0)
      spec.number = spec.name.id.value_or(-1);  // as requests name it, whatever it is called here
    const int number = numbers[spec.name.type]++;
    if (spec.name.id != number) spec.description += str_cat(" (", spec.name.short_string(), " of the server)");
    spec.name.id = number;
    if (part.limit_bytes > 0) spec.memory_limit_bytes = part.limit_bytes;
    if (part.cores > 0 && !spec.is_gpu()) spec.cores = part.cores;
    devices.push_back(std::make_unique<DeviceView>(*device_set, part, std::move(spec)));
    origin.push_back(part.device);
  }
  if (devices.empty()) return invalid_argument("a view needs a device");
  return std::make_shared<DeviceSet>(device_set, std::move(devices), origin, view.own_resources);
}

}  // namespace argosy
