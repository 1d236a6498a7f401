// Registration functions of the sparse family, one pair per file. Internal to the family.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy::sparse {

void define_form(OpRegistry& ops);     // which entries, where
void define_math(OpRegistry& ops);     // products, sums, reductions
void define_segment(OpRegistry& ops);  // rows by segment
void define_serial(OpRegistry& ops);   // to bytes, and kept
void define_cross(OpRegistry& ops);    // combinations of features

void add_kernels_cpu_form(KernelRegistry& kernels);
void add_kernels_cpu_math(KernelRegistry& kernels);
void add_kernels_cpu_reduce(KernelRegistry& kernels);
void add_kernels_cpu_segment(KernelRegistry& kernels);
void add_kernels_cpu_serial(KernelRegistry& kernels);
void add_kernels_cpu_cross(KernelRegistry& kernels);

}  // namespace argosy::sparse
