// Row splits as kernels read and write them. Internal to the ragged family.
#pragma once

#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// Reads row splits: a vector that ascends from 0 to `values`. INVALID_ARGUMENT: it does not.
Result<Ints> read_splits(const Tensor& t, std::int64_t values, std::string_view op);
// Reads inputs first … first + count - 1: the splits from the outermost axis inwards, for `values` values.
Result<std::vector<Ints>> read_nested(const KernelContext& c, int first, int count, std::int64_t values,
                                      std::string_view op);
Status put_splits(KernelContext& c, int output, const Ints& splits);

void add_kernels_cpu_ragged_variants(KernelRegistry& kernels);

}  // namespace argosy
