// The CUDA plug-in, libargosy_cuda.so: found, opened, checked. Without it, or without a driver, nothing else changes.
#pragma once

#include <memory>
#include <string>

#include "argosy/base/status.h"
#include "argosy/device/gpu_backend.h"

namespace argosy {

// What a plug-in exports as `argosy_gpu_plugin`, with C linkage. The texts are compared before anything is called: a
// plug-in belongs to the build of the library it came with.
struct GpuPlugin {
  const char* build;  // plugin_build() of the one who made it
  // The backend, or null with an error to be deleted by the caller's copy of Status.
  GpuBackend* (*make)(Status* error);
};
inline constexpr char kGpuPluginSymbol[] = "argosy_gpu_plugin";

// "0.1.0 g++ 12.2 gpu-1": version, compiler, number of this interface.
std::string plugin_build();

// $ARGOSY_CUDA_PLUGIN (a file; "none": act as if there were none), else libargosy_cuda.so beside the program, in ../lib
// of it, or beside this library. NOT_FOUND (ARG-GPU-001): there is no plug-in. FAILED_PRECONDITION: it is another
// build's (ARG-GPU-002). UNAVAILABLE: it cannot be opened, or finds no driver, or one that is too old (ARG-GPU-003 to
// 005); the message is one line that names the file and the version.
Result<std::shared_ptr<GpuBackend>> open_cuda_plugin();

}  // namespace argosy
