#include "argosy/device/emulated/emulated_gpu.h"

#include "argosy/device/host_stream.h"
#include "argosy/device/pool.h"

namespace argosy {

namespace {

class EmulatedGpuDevice final : public Device {
 public:
  EmulatedGpuDevice(DeviceSpec spec, const DeviceFaults& faults, std::shared_ptr<Closing> closing)
      : spec_(std::move(spec)),
        closing_(std::move(closing)),
        impairment_(spec_, faults, closing_),
        memory_(spec_.said_name(), spec_.memory_limit_bytes, spec_.request_name()),
        streams_(spec_.name.short_string(), spec_.cores,
                 [this](const Buffer& to, const Buffer& from) { return impairment_.copy(to, from); }) {
    memory_.fail_allocation(faults.fail_allocation);
  }
  // Streams finish their queues as they go: nothing may hang or dawdle in them from here on.
  ~EmulatedGpuDevice() override { closing_->close(); }

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return memory_; }
  Stream& compute() override { return streams_.compute; }
  Stream& copies() override { return streams_.copies; }
  Stream& communication() override { return streams_.communication; }
  KernelObserver* observer() override { return impairment_.kernels_are_plain() ? nullptr : &impairment_; }
  Status synchronize() override { return streams_.synchronize(); }

 private:
  const DeviceSpec spec_;
  const std::shared_ptr<Closing> closing_;
  Impairment impairment_;
  PoolAllocator memory_;
  HostStreams streams_;
};

}  // namespace

std::unique_ptr<Device> make_emulated_gpu(DeviceSpec spec, const DeviceFaults& faults,
                                          std::shared_ptr<Closing> closing) {
  return std::make_unique<EmulatedGpuDevice>(std::move(spec), faults, std::move(closing));
}

}  // namespace argosy
