// A machine with fake GPUs, for tests: the fake driver and a CUDA backend over it.
#pragma once

#include <gtest/gtest.h>

#include "argosy/device/cuda/cuda_backend.h"
#include "argosy/device/cuda/fake/fake_driver.h"

namespace argosy::cuda::fake {

class Machine {
 public:
  explicit Machine(Options options = {}, CudaBackend::Options backend = {})
      : driver_(std::move(options)), backend_(std::make_shared<CudaBackend>(driver_.driver(), std::move(backend))) {}
  // Fails the test after a violation, or when an object was not given back.
  ~Machine() {
    backend_.reset();
    EXPECT_TRUE(driver_.violations().empty()) << driver_.violations().front();
    EXPECT_EQ(driver_.live_objects() == 0, !left_behind_) << driver_.live_objects();
  }

  FakeDriver& driver() { return driver_; }
  const std::shared_ptr<CudaBackend>& backend() { return backend_; }
  // For make_devices(), sessions and so on.
  DeviceRequest request(std::string devices = "") { return {.devices = std::move(devices), .gpus = backend_}; }
  // One device on a GPU, GPU:<gpu>.
  std::unique_ptr<CudaDevice> device(int gpu = 0, std::uint64_t limit = std::uint64_t{64} << 20,
                                     const DeviceFaults& faults = {}) {
    DeviceSpec spec;
    spec.name = {"localhost", 0, 0, "GPU", gpu};
    spec.kind = DeviceKind::kCuda;
    spec.physical_gpu = gpu;
    spec.memory_limit_bytes = limit;
    auto made = backend_->make(std::move(spec), {}, faults, nullptr);
    return std::unique_ptr<CudaDevice>(static_cast<CudaDevice*>(std::move(made).value().release()));
  }

  // A device hung, so its memory cannot be given back: the destructor expects that.
  void expect_left_behind() { left_behind_ = true; }

 private:
  bool left_behind_ = false;
  FakeDriver driver_;
  std::shared_ptr<CudaBackend> backend_;
};

}  // namespace argosy::cuda::fake
