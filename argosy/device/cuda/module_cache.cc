#include "argosy/device/cuda/module_cache.h"

namespace argosy::cuda {

Result<CuFunction> ModuleCache::find(std::string_view key, const void* image, std::string_view kernel) {
  const DriverCalls& cu = *core_->driver().operator->();
  MutexLock lock(mutex_);
  auto found = modules_.find(key);
  if (found != modules_.end()) {
    const auto known = found->second.functions.find(kernel);
    if (known != found->second.functions.end()) return known->second;
  }
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (found == modules_.end()) {
    Module module;
    const CuResult loaded = cu.cuModuleLoadData(&module.handle, image);
    // The last three errors: the image is of a newer toolkit than the driver's, or needs a compiler (of PTX) that is
    // not installed.
    if (loaded == kCuNoBinaryForGpu || loaded == kCuUnsupportedPtxVersion || loaded == kCuInvalidImage ||
        loaded == kCuInvalidPtx || loaded == kCuNoPtxCompiler) {
      return failed_precondition("kernels of ", key, " are not for this GPU (", facts_.name, ", compute capability ",
                                 facts_.major, ".", facts_.minor, ") or this driver (CUDA ",
                                 core_->driver().version_text(), "): error ", loaded)
          .with_id("ARG-GPU-006")
          .with_hint(str_cat("build with -D ARGOSY_CUDA_ARCHITECTURES=", facts_.major, facts_.minor,
                             ", or take a newer driver"));
    }
    ARGOSY_RETURN_IF_ERROR(core_->check(loaded, "cuModuleLoadData"));
    found = modules_.emplace(std::string(key), std::move(module)).first;
  }
  CuFunction function = nullptr;
  const CuResult result = cu.cuModuleGetFunction(&function, found->second.handle, std::string(kernel).c_str());
  if (result == kCuNotFound) return not_found("there is no kernel ", kernel, " in module ", key).with_id("ARG-GPU-008");
  ARGOSY_RETURN_IF_ERROR(core_->check(result, "cuModuleGetFunction"));
  found->second.functions.emplace(std::string(kernel), function);
  return function;
}

bool ModuleCache::contains(std::string_view key) const {
  MutexLock lock(mutex_);
  return modules_.contains(key);
}

void ModuleCache::clear(bool unload) {
  MutexLock lock(mutex_);
  for (auto& [key, module] : modules_) {
    if (unload) core_->driver()->cuModuleUnload(module.handle);
  }
  modules_.clear();
}

}  // namespace argosy::cuda
