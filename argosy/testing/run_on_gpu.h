// Runs an op's kernel of kind "cuda" on a fake GPU, with kernels compiled for the host. So every op case also tests the
// GPU's kernels, without a GPU.
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/op_def.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// The outputs of the op, in host memory. Empty: GPUs have no kernel for the op or its dtypes. A violation of the fake
// driver is an error.
std::optional<Result<std::vector<Tensor>>> run_on_gpu(const OpDef& op, AttrMap attrs,
                                                      const std::vector<Tensor>& inputs);

// The same for an op that changes variables. variable[i]: input i is the value of a variable on the GPU before the op
// (not valid(): none yet), and `after` has its value after the op. Empty also for int32 variables.
struct StateOnGpu {
  std::vector<Tensor> outputs;  // of the op; references are left out
  std::vector<Tensor> after;
};
std::optional<Result<StateOnGpu>> run_state_on_gpu(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                                   const std::vector<bool>& variable, DType dtype);

}  // namespace argosy
