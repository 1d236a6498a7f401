// Convolutions of a GPU by cuDNN, where it is and has a way: images padded, filters turned and layouts changed as it
// wants them.
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
  // Towards the image: dy and the filter; towards the filter: the image and dy. Filters are TensorFlow's, [h, w, in,
  // out].
  const void *image = nullptr, *filter = nullptr, *output = nullptr;
  const void* bias = nullptr;  // forward
  FusedOps fused = {};
};

// The result goes where `call` has the missing one, `result`. UNIMPLEMENTED where the convolution is our own kernels':
// without the library, and what it has no way for.
Status conv_by_library(KernelContext& c, const ConvCall& call, void* result);

// $ARGOSY_CUDNN_AUTOTUNE=1: algorithms are timed where a convolution is met first, and the fastest is kept in
// <cache folder>/convolutions.txt; else the library's own order holds.
bool autotune_wanted(const char* (*environment)(const char*));
// $ARGOSY_CUDNN_ENGINE=2: for tests of the library, the engine at that place of its order and no other. Nothing: all.
std::optional<int> only_engine(const char* (*environment)(const char*));

}  // namespace argosy::cuda
