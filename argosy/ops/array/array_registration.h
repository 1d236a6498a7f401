// Registration functions of the array family, one pair a file.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_array_copies(OpRegistry& ops);
void define_array_combinations(OpRegistry& ops);
void define_data_formats(OpRegistry& ops);
void define_array_searches(OpRegistry& ops);
void define_array_assignments(OpRegistry& ops);
void define_bit_masks(OpRegistry& ops);

void add_array_copies(KernelRegistry& kernels);
void add_array_combinations(KernelRegistry& kernels);
void add_data_formats(KernelRegistry& kernels);
void add_array_searches(KernelRegistry& kernels);
void add_array_assignments(KernelRegistry& kernels);
void add_bit_masks(KernelRegistry& kernels);
void add_isotonic(KernelRegistry& kernels);

// Returns, for each letter of `src`, its position in `dst`. INVALID_ARGUMENT unless they are permutations of the same 4
// or 5 letters.
Result<std::vector<int>> format_permutation(std::string_view op, const std::string& src, const std::string& dst);

}  // namespace argosy
