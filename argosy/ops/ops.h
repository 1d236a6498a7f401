// The built-in ops and their CPU kernels: one registry each, filled from argosy/ops/CMakeLists.txt, shared, read-only.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

const OpRegistry& builtin_ops();  // The definitions of all ops that come with the engine. One for the process.
// A registry of one's own that starts with them all: for programs that add ops. (Kernels: copy cpu_kernels() and
// add().)
OpRegistry copy_builtin_ops();
const KernelRegistry& cpu_kernels();  // All kernels for CPUs. One for the process.

}  // namespace argosy
