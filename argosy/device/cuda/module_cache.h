// ModuleCache: the loaded modules of kernels of one CUDA device, and their functions. Each is looked up in the driver
// once. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"
#include "argosy/device/cuda/device_core.h"
#include "argosy/device/gpu_backend.h"

namespace argosy::cuda {

class ModuleCache {
 public:
  // `facts`: the GPU, for messages.
  ModuleCache(std::shared_ptr<DeviceCore> core, const GpuFacts& facts) : core_(std::move(core)), facts_(facts) {}

  // The kernel of the module `key`, loaded from `image` (a fatbin, cubin or PTX) when the key is new.
  // FAILED_PRECONDITION (ARG-GPU-006): the image is not for this GPU. NOT_FOUND (ARG-GPU-008): no such kernel.
  Result<CuFunction> find(std::string_view key, const void* image, std::string_view kernel);
  bool contains(std::string_view key) const;
  // Forgets all modules; unloads them if `unload`. REQUIRES: the context is current.
  void clear(bool unload);

 private:
  struct Module {
    CuModule handle = nullptr;
    std::map<std::string, CuFunction, std::less<>> functions;
  };

  const std::shared_ptr<DeviceCore> core_;
  const GpuFacts& facts_;
  mutable Mutex mutex_;
  std::map<std::string, Module, std::less<>> modules_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
