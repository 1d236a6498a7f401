// BatchMatMul, V2 and V3: defined and given kernels together with MatMul.
#pragma once

#include <vector>

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_batch_matmul(OpRegistry& ops);
void add_kernels_cpu_batch_matmul(KernelRegistry& kernels);

// The leading axes of two stacks of matrices, broadcast: which matrix of x and of y makes matrix i of the result.
struct BatchBroadcast {
  Shape batch;                  // of the result
  std::vector<std::int64_t> x;  // empty when x and y have the same batch: i is i
  std::vector<std::int64_t> y;
};
// REQUIRES: ranks of at least 2. With `broadcast` false the leading axes must be equal.
Result<BatchBroadcast> broadcast_batch(std::string_view op, const Shape& x, const Shape& y, bool broadcast);

}  // namespace argosy
