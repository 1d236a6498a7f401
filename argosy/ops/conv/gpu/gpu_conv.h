// Convolutions on a GPU by cuDNN, if it is installed and has an engine. Pads images, transposes filters and changes
// layouts to those that cuDNN takes.
#pragma once

#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/conv/gpu/dnn_convolutions.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/matmul/fused_ops.h"

namespace argosy::cuda {

struct ConvCall {
  int direction = kDnnForward;  // dnn_calls.h
  DType dtype = DType::kFloat32;
  bool nchw = false;
  ConvGeometry geometry;
  // Operands. Gradient of the image: dy and the filter. Gradient of the filter: the image and dy. Filters are in
  // TensorFlow's layout, [h, w, in, out].
  const void *image = nullptr, *filter = nullptr, *output = nullptr;
  const void* bias = nullptr;  // forward
  FusedOps fused = {};
};

// Runs the convolution by cuDNN. `result`: the memory of the operand that `call` leaves null. UNIMPLEMENTED if cuDNN is
// missing or has no engine: then our own kernels compute it.
Status conv_by_library(KernelContext& c, const ConvCall& call, void* result);

// True for ARGOSY_CUDNN_AUTOTUNE=1: engines are timed at the first run of a convolution, and the fastest is kept in
// <cache folder>/convolutions.txt. Otherwise cuDNN's own order is used.
bool autotune_wanted(const char* (*environment)(const char*));
// For tests of cuDNN: ARGOSY_CUDNN_ENGINE=2 uses only the engine at that position in cuDNN's order. nullopt if unset
// or not a number.
std::optional<int> only_engine(const char* (*environment)(const char*));

}  // namespace argosy::cuda
