#include "argosy/device/cpu/cpu_device.h"

#include "argosy/device/host_stream.h"
#include "argosy/device/pool.h"

namespace argosy {

namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceSpec spec)
      : spec_(std::move(spec)),
        memory_(spec_.said_name(), spec_.memory_limit_bytes, spec_.request_name()),
        streams_(spec_.name.short_string(), spec_.cores, nullptr) {}

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return memory_; }
  Stream& compute() override { return streams_.compute; }
  Stream& copies() override { return streams_.copies; }
  Stream& communication() override { return streams_.communication; }
  Status synchronize() override { return streams_.synchronize(); }

 private:
  const DeviceSpec spec_;
  PoolAllocator memory_;
  HostStreams streams_;
};

}  // namespace

DeviceSpec cpu_spec(const DeviceName& name, int threads, std::uint64_t memory_limit_bytes) {
  DeviceSpec spec;
  spec.name = name;
  spec.kind = DeviceKind::kCpu;
  spec.memory_limit_bytes = memory_limit_bytes;
  spec.cores = threads;
  spec.description = str_cat("CPU, ", threads, threads == 1 ? " core, " : " cores, ", format_bytes(memory_limit_bytes));
  return spec;
}

std::unique_ptr<Device> make_cpu_device(DeviceSpec spec) { return std::make_unique<CpuDevice>(std::move(spec)); }

}  // namespace argosy
