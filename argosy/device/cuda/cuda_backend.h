// CudaBackend: the GPUs of a CUDA driver, and devices on them. The plug-in gives the library one; tests make one over a
// fake driver.
#pragma once

#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/driver/nvml.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

class CudaBackend final : public GpuBackend {
 public:
  struct Options {
    std::span<const ModuleImage> modules = {};
    void (*kernels)(KernelRegistry&) = nullptr;
    std::shared_ptr<RuntimeCompiler> (*compiler)() = nullptr;    // for kernels compiled at run time; null: none
    Result<std::shared_ptr<Dnn>> (*dnn)(CudaDevice&) = nullptr;  // cuDNN on a device; null: none
    bool vendor_libraries = false;                               // kernels may use cuBLASLt and other libraries
    KernelObserver* observer = nullptr;                          // called for every kernel, one by one; null: none
    std::shared_ptr<Nvml> nvml = nullptr;                        // null: not installed
    std::string nvml_problem = {};                               // why it is missing
    std::vector<LibraryFacts> (*libraries)() = nullptr;          // the libraries that kernels use
    // Which implementation makes the sums of these devices, in any order or a deterministic one.
    CollectiveFacts (*collectives)(const std::vector<CudaDevice*>& devices, bool deterministic) = nullptr;
    int oldest_major = 5, oldest_minor = 2;  // compute capability of the oldest images
    std::chrono::milliseconds grace = CudaDevice::kGrace;
  };
  CudaBackend(std::shared_ptr<const Driver> driver, Options options);

  std::string kind() const override { return "CUDA"; }
  std::string driver() const override;
  Result<std::vector<GpuFacts>> gpus() override;
  std::vector<LibraryFacts> libraries() override;
  GpuLinks try_links() override;
  Result<std::unique_ptr<Device>> make(DeviceSpec spec, const DeviceRequest& request, const DeviceFaults& faults,
                                       std::shared_ptr<ShutdownSignal> shutdown) override;
  Links& links() { return *links_; }

 private:
  struct Gpu {
    CuDevice handle;
    GpuFacts facts;
  };
  // In the order of their PCI addresses, as nvidia-smi's. The driver's default order is by speed.
  Result<std::vector<Gpu>> enumerate_gpus() const;
  Result<Gpu> query_gpu(int ordinal) const;

  const std::shared_ptr<const Driver> driver_;
  const Options options_;
  const std::shared_ptr<Links> links_ = std::make_shared<Links>();
};

}  // namespace argosy::cuda
