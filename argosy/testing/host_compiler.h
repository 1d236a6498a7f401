// What stands for NVRTC where GPUs are fakes.
#pragma once

#include <memory>

#include "argosy/device/cuda/driver/runtime_compiler.h"

namespace argosy {

// Generated kernels become shared objects, which the fake driver loads, by way of the machine's own compiler, where it
// has one; watched ones where the fake driver wants those (argosy/device/cuda/fake/watch.h).
std::shared_ptr<cuda::RuntimeCompiler> host_compiler();

}  // namespace argosy
