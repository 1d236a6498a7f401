// The files of this family, for its lists: each part adds its ops and kernels.
#pragma once

#include "argosy/op/kernel.h"
#include "argosy/op/registry.h"

namespace argosy {

void define_gathers(OpRegistry& ops);
void define_scatters(OpRegistry& ops);
void define_choices(OpRegistry& ops);
void define_uniques(OpRegistry& ops);
void define_partitions(OpRegistry& ops);
void define_top_k(OpRegistry& ops);

void add_gathers(KernelRegistry& kernels);
void add_scatters(KernelRegistry& kernels);
void add_choices(KernelRegistry& kernels);
void add_uniques(KernelRegistry& kernels);
void add_partitions(KernelRegistry& kernels);
void add_top_k(KernelRegistry& kernels);

}  // namespace argosy
