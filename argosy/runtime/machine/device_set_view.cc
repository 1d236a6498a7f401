#include "argosy/runtime/machine/device_set_view.h"

#include <map>

#include "argosy/runtime/machine/memory_limits.h"

namespace argosy {

namespace {

// Another name, cap and thread budget of a device.
class ViewedDevice final : public Device {
 public:
  ViewedDevice(Machine& machine, const MachineView::Part& part, DeviceSpec spec)
      : machine_(machine), part_(part), device_(machine.device(part.device)), spec_(std::move(spec)) {
    if (part.limit_bytes > 0) {
      cap_ = machine.caps().take(part.device, part.limit_bytes, spec_.said_name(), device_.allocator());
    }
  }
  ~ViewedDevice() override {
    if (cap_ != nullptr) machine_.caps().give_back(part_.device, part_.limit_bytes, cap_);
  }

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return cap_ != nullptr ? *cap_ : device_.allocator(); }
  Stream& compute() override { return device_.compute(); }
  Stream& copies() override { return device_.copies(); }
  Stream& communication() override { return device_.communication(); }
  KernelObserver* observer() override { return device_.observer(); }
  std::string_view kernel_kind() const override { return device_.kernel_kind(); }
  void add_kernels(KernelRegistry& kernels) const override { device_.add_kernels(kernels); }
  LaunchQueue* launches() override { return device_.launches(); }
  Device& physical() override { return device_.physical(); }
  Status synchronize() override { return device_.synchronize(); }

 private:
  Machine& machine_;  // kept alive by the view
  const MachineView::Part part_;
  Device& device_;
  const DeviceSpec spec_;
  CappedAllocator* cap_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<Machine>> view_machine(const std::shared_ptr<Machine>& machine, const MachineView& view) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<int> origin;
  std::map<std::string, int> numbers;
  for (const MachineView::Part& part : view.parts) {
    if (part.device < 0 || part.device >= machine->size()) return invalid_argument("there is no device ", part.device);
    const Device& device = machine->device(part.device);
    DeviceSpec spec = device.spec();
    if (devices.empty() && spec.is_gpu()) return invalid_argument("a view begins with a CPU");
    if (spec.is_gpu() && spec.number < 0)
      spec.number = spec.name.id.value_or(-1);  // as requests name it, whatever it is called here
    const int number = numbers[spec.name.type]++;
    if (spec.name.id != number) spec.description += str_cat(" (", spec.name.short_string(), " of the server)");
    spec.name.id = number;
    if (part.limit_bytes > 0) spec.memory_limit_bytes = part.limit_bytes;
    if (part.cores > 0 && !spec.is_gpu()) spec.cores = part.cores;
    devices.push_back(std::make_unique<ViewedDevice>(*machine, part, std::move(spec)));
    origin.push_back(part.device);
  }
  if (devices.empty()) return invalid_argument("a view needs a device");
  return std::make_shared<Machine>(machine, std::move(devices), origin, view.own_resources);
}

}  // namespace argosy
