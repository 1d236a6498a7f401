// Replaces NVRTC for fake GPUs.
#pragma once

#include <memory>

#include "argosy/device/cuda/driver/runtime_compiler.h"

namespace argosy {

// Compiles generated kernels with the machine's C++ compiler, if there is one, into shared objects that the fake driver
// loads. They are instrumented where the fake driver asks for it (argosy/device/cuda/fake/watch.h).
std::shared_ptr<cuda::RuntimeCompiler> host_compiler();

}  // namespace argosy
