// Which elementwise functions have kernels on a GPU: what single ops and fused ones ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "argosy/tensor/dtype.h"

namespace argosy::elementwise {

struct GpuKernel {
  const char* module;
  std::string kernel;
};
// `op` of one operand, or of two, of `dtype`; nothing where there is no row.
std::optional<GpuKernel> unary_on_gpu(std::string_view op, DType dtype);
std::optional<GpuKernel> binary_on_gpu(std::string_view op, DType dtype);

// The function of functions_cuda.h that an op computes: Add for AddV2.
std::string_view function_on_gpu(std::string_view op);

}  // namespace argosy::elementwise
