// Registration functions of the string family. Internal to the family.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_text(OpRegistry& ops);     // case, pieces, patterns, numbers, hashes, base64
void define_unicode(OpRegistry& ops);  // code points and encodings

void add_kernels_cpu_text(KernelRegistry& kernels);
void add_kernels_cpu_pieces(KernelRegistry& kernels);
void add_kernels_cpu_patterns(KernelRegistry& kernels);
void add_kernels_cpu_hashes(KernelRegistry& kernels);
void add_kernels_cpu_unicode(KernelRegistry& kernels);

}  // namespace argosy
