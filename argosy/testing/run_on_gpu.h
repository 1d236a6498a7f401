// An op's kernel of kind "cuda", run on a fake GPU whose kernels are compiled for the host: so every op case is also a
// case of the GPU's kernels, without a GPU.
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/op_def.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// What the op outputs there, in the host's memory; nothing where GPUs have no kernel for it, or not for its dtypes.
// Also an error: whatever the fake driver calls a violation.
std::optional<Result<std::vector<Tensor>>> run_on_gpu(const OpDef& op, AttrMap attrs,
                                                      const std::vector<Tensor>& inputs);

// The same for an op that changes variables: where `variable` says so, an input is the value that a variable on the
// GPU has before (not valid(): none yet), and comes back as the one it has after.
struct StateOnGpu {
  std::vector<Tensor> outputs;  // of the op; references are left out
  std::vector<Tensor> after;
};
std::optional<Result<StateOnGpu>> run_state_on_gpu(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                                   const std::vector<bool>& variable, DType dtype);

}  // namespace argosy
