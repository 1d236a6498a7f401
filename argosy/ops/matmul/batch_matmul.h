// BatchMatMul, BatchMatMulV2 and BatchMatMulV3: registration functions, which those of MatMul call, and the broadcast
// of batch axes.
#pragma once

#include <vector>

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_batch_matmul(OpRegistry& ops);
void add_kernels_cpu_batch_matmul(KernelRegistry& kernels);

// The batch axes of x and y, broadcast: which matrix of x and which of y are multiplied for matrix i of the result.
struct BatchBroadcast {
  Shape batch;                  // the result's batch axes
  std::vector<std::int64_t> x;  // x[i]: the matrix of x; x and y are empty where both have the same batch axes
  std::vector<std::int64_t> y;
};
// REQUIRES: ranks of at least 2. With `broadcast` false the leading axes must be equal.
Result<BatchBroadcast> broadcast_batch(std::string_view op, const Shape& x, const Shape& y, bool broadcast);

}  // namespace argosy
