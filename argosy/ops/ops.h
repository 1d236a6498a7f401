// The registries of the built-in ops and of their CPU kernels: one each, filled from argosy/ops/CMakeLists.txt, shared
// and read-only.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

const OpRegistry& builtin_ops();  // The definitions of all ops that come with the engine. One for the process.
// Returns a new registry with all built-in ops, for programs that add ops. (For kernels: copy cpu_kernels() and call
// add().)
OpRegistry copy_builtin_ops();
// All CPU kernels: one registry for the process. In the CUDA plug-in, it is a copy of the program's
// (plugin_kernels.cc).
const KernelRegistry& cpu_kernels();

}  // namespace argosy
