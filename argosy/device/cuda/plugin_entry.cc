// The only symbol that libargosy_cuda.so exports.
#include <algorithm>

#include "argosy/device/cuda/cuda_backend.h"
#include "argosy/device/cuda/dnn/dnn.h"
#include "argosy/device/cuda/driver/library.h"
#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/device/cuda/kernels/kernels.h"
#include "argosy/device/plugin.h"

namespace argosy::cuda {

namespace {

// Without NVRTC fused programs run one op after another; `argosy doctor` says why NVRTC is missing.
std::shared_ptr<RuntimeCompiler> compiler() {
  auto nvrtc = open_nvrtc();
  return nvrtc.ok() ? cached(*std::move(nvrtc), default_cache_folder()) : nullptr;
}

Result<std::shared_ptr<Dnn>> dnn(CudaDevice&) { return Dnn::open(); }

GpuBackend* make(Status* error) {
  auto driver = Driver::open();
  if (!driver.ok()) {
    *error = std::move(driver).status();
    return nullptr;
  }
  prefer_cuda(std::min((*driver)->version() / 1000, ARGOSY_CUDA_RELEASE));
  CudaBackend::Options options{.modules = module_images(),
                               .kernels = add_plugin_kernels,
                               .compiler = compiler,
                               .dnn = dnn,
                               .vendor_libraries = true,
                               .libraries = library_facts,
                               .collectives = collective_facts,
                               .oldest_major = ARGOSY_CUDA_OLDEST / 10,
                               .oldest_minor = ARGOSY_CUDA_OLDEST % 10};
  if (auto nvml = Nvml::open(); nvml.ok()) {
    options.nvml = *nvml;
  } else {
    options.nvml_problem = nvml.status().message();
  }
  return new CudaBackend(*driver, std::move(options));
}

// The text must outlive the call.
const char* build() {
  static const std::string text = plugin_build();
  return text.c_str();
}

}  // namespace

}  // namespace argosy::cuda

extern "C" {
extern __attribute__((visibility("default"))) const argosy::GpuPlugin argosy_gpu_plugin;
const argosy::GpuPlugin argosy_gpu_plugin = {argosy::cuda::build(), argosy::cuda::make};
}
