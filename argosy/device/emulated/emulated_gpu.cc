#include "argosy/device/emulated/emulated_gpu.h"

#include "argosy/device/host_stream.h"
#include "argosy/device/pool.h"

namespace argosy {

namespace {

class EmulatedGpuDevice final : public Device {
 public:
  EmulatedGpuDevice(DeviceSpec spec, const DeviceFaults& faults, std::shared_ptr<ShutdownSignal> shutdown)
      : spec_(std::move(spec)),
        shutdown_(std::move(shutdown)),
        fault_injector_(spec_, faults, shutdown_),
        memory_(spec_.said_name(), spec_.memory_limit_bytes, spec_.request_name()),
        streams_(spec_.name.short_string(), spec_.cores,
                 [this](const Buffer& to, const Buffer& from) { return fault_injector_.copy(to, from); }) {
    memory_.fail_allocation(faults.fail_allocation);
  }
  // The streams finish their queues when they are destroyed: from here on no kernel may hang or be slowed down in them.
  ~EmulatedGpuDevice() override { shutdown_->close(); }

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return memory_; }
  Stream& compute() override { return streams_.compute; }
  Stream& copies() override { return streams_.copies; }
  Stream& communication() override { return streams_.communication; }
  KernelObserver* observer() override { return fault_injector_.kernels_are_plain() ? nullptr : &fault_injector_; }
  Status synchronize() override { return streams_.synchronize(); }

 private:
  const DeviceSpec spec_;
  const std::shared_ptr<ShutdownSignal> shutdown_;
  FaultInjector fault_injector_;
  PoolAllocator memory_;
  HostStreams streams_;
};

}  // namespace

std::unique_ptr<Device> make_emulated_gpu(DeviceSpec spec, const DeviceFaults& faults,
                                          std::shared_ptr<ShutdownSignal> shutdown) {
  return std::make_unique<EmulatedGpuDevice>(std::move(spec), faults, std::move(shutdown));
}

}  // namespace argosy
