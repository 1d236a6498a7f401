// Row splits as kernels read and write them. Internal to the ragged family.
#pragma once

#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// A vector from 0 to `values` that ascends.
Result<Ints> read_splits(const Tensor& t, std::int64_t values, std::string_view op);
// Inputs first … first + count - 1: splits from the outermost axis inwards, over so many values.
Result<std::vector<Ints>> read_nested(const KernelContext& c, int first, int count, std::int64_t values,
                                      std::string_view op);
Status put_splits(KernelContext& c, int output, const Ints& splits);

void add_kernels_cpu_ragged_variants(KernelRegistry& kernels);

}  // namespace argosy
