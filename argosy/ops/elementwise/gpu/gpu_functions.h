// Finds the GPU kernels of elementwise functions, for single ops and for fused ones.
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
// The kernel of a unary or binary op for `dtype`; nullopt if there is none.
std::optional<GpuKernel> unary_on_gpu(std::string_view op, DType dtype);
std::optional<GpuKernel> binary_on_gpu(std::string_view op, DType dtype);

// Returns the functor of functions_cuda.h that an op computes: Add for AddV2.
std::string_view function_on_gpu(std::string_view op);

}  // namespace argosy::elementwise
