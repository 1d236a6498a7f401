// Registration functions of ops on whole rows of ragged tensors (filling empty rows, feature crosses) and of composite
// tensors. Internal to the ragged family.
#pragma once

namespace argosy {

class KernelRegistry;
class OpRegistry;

void define_ragged_rows(OpRegistry& ops);
void define_composites(OpRegistry& ops);
void add_kernels_cpu_composites(KernelRegistry& kernels);
void add_kernels_cpu_ragged_rows(KernelRegistry& kernels);
void add_kernels_cpu_ragged_cross(KernelRegistry& kernels);

}  // namespace argosy
