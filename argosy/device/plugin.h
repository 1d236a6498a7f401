// Finds, opens and checks the CUDA plug-in, libargosy_cuda.so. Without a plug-in or a driver, the rest of the library
// works as before.
#pragma once

#include <memory>
#include <string>

#include "argosy/base/status.h"
#include "argosy/device/gpu_backend.h"

namespace argosy {

// The structure that a plug-in exports as `argosy_gpu_plugin`, with C linkage. The library compares `build` before it
// calls anything: a plug-in works only with the build of the library that it was made with.
struct GpuPlugin {
  const char* build;  // plugin_build() of the plug-in
  // Returns the backend, or null and an error in `*error`.
  GpuBackend* (*make)(Status* error);
};
inline constexpr char kGpuPluginSymbol[] = "argosy_gpu_plugin";

// "0.1.0 g++ 12.2 gpu-1": version, compiler, number of this interface.
std::string plugin_build();

// Looks for $ARGOSY_CUDA_PLUGIN (a file; "none": as if there were no plug-in). Without it, for libargosy_cuda.so next
// to the program, in ../lib of it, or next to this library. Errors, each one line with file and version:
// * NOT_FOUND (ARG-GPU-001): there is no plug-in.
// * FAILED_PRECONDITION (ARG-GPU-002): the plug-in is from another build.
// * UNAVAILABLE (ARG-GPU-003 to 005): it cannot be opened, or its driver is missing or too old.
Result<std::shared_ptr<GpuBackend>> open_cuda_plugin();

}  // namespace argosy
