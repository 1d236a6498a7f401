// A machine with fake GPUs that have all our kernels (needs ARGOSY_KERNELS_ON_HOST, see CMakeLists.txt).
#pragma once

#include <span>

#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/device/cuda/fake/fake_driver_machine.h"
#include "argosy/device/cuda/kernels/kernels.h"

namespace argosy::cuda::fake {

// The same shared object under every module's name.
inline std::span<const ModuleImage> host_images() {
  static const ModuleImage images[] = {
#define CUDA_MODULE(name) {#name, ARGOSY_KERNELS_ON_HOST},
#include "argosy/ops/cuda_modules.inc"
#undef CUDA_MODULE
  };
  return images;
}

// `gpus` of 1 GiB each.
inline Options gpus_with_kernels(int gpus) {
  Options options;
  options.gpus.assign(static_cast<std::size_t>(gpus), FakeGpu{.memory_bytes = std::uint64_t{1} << 30});
  return options;
}
// A run-time compiler that compiles nothing, for GPUs that run no kernels (Options::run_kernels).
class CompilesNothing final : public RuntimeCompiler {
 public:
  std::string version() const override { return "none"; }
  std::vector<int> architectures() const override { return {}; }
  Result<std::string> compile(const std::string&, int, int) override { return std::string(ARGOSY_KERNELS_ON_HOST); }
  static std::shared_ptr<RuntimeCompiler> make() { return std::make_shared<CompilesNothing>(); }
};
inline CudaBackend::Options with_kernels() { return {.modules = host_images(), .kernels = add_cuda_kernels}; }

}  // namespace argosy::cuda::fake
