// Registration functions of this family: each file adds its ops and kernels.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_transposes(OpRegistry& ops);
void define_joins(OpRegistry& ops);
void define_slices(OpRegistry& ops);
void define_pads(OpRegistry& ops);
void define_repeats(OpRegistry& ops);
void define_blocks(OpRegistry& ops);
void define_diagonals(OpRegistry& ops);

void add_transposes(KernelRegistry& kernels);
void add_joins(KernelRegistry& kernels);
void add_slices(KernelRegistry& kernels);
void add_pads(KernelRegistry& kernels);
void add_repeats(KernelRegistry& kernels);
void add_blocks(KernelRegistry& kernels);
void add_diagonals(KernelRegistry& kernels);

}  // namespace argosy
