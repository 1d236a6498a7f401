// cuDNN's calls answered by our own kernels, with what a test wants to go wrong.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "argosy/device/cuda/backend.h"
#include "argosy/device/cuda/dnn.h"

namespace argosy::cuda {

struct DnnHandleObject {
  CudaDevice* device = nullptr;  // where everything runs; null: nowhere
  void* stream = nullptr;
};
struct DnnTensorObject {
  int format = 0, type = 0, n = 0, c = 0, h = 0, w = 0;
};
struct DnnFilterObject {
  int type = 0, format = 0, out = 0, in = 0, h = 0, w = 0;
};
struct DnnConvolutionObject {
  int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, mode = 0, compute = 0,
      groups = 1, math = 0;
};
struct DnnPoolingObject {
  int mode = 0, nan = 0, window_h = 1, window_w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

}  // namespace argosy::cuda

namespace argosy::cuda::fake {

struct FakeDnn {
  std::vector<DnnChoice> algorithms = {{.algorithm = 1, .workspace_bytes = 64, .determinism = 1, .math = kDnnFmaMath},
                                       {.algorithm = 0, .workspace_bytes = 0, .determinism = 1, .math = kDnnFmaMath}};
  std::map<int, int> status_of = {};                             // what a convolution by this algorithm answers instead
  int only_format = -1;                                          // images of the other one have no algorithm
  bool fuses = true;                                             // is there a call for relu(convolution + bias)?
  int norms_answer = 0, pools_answer = 0, softmaxes_answer = 0;  // what these are answered with instead
  std::size_t library_version = 90500;

  int convolutions = 0, fused = 0, choices = 0;
  int trainings = 0, inferences = 0, norm_gradients = 0, pools = 0, pool_gradients = 0;
  int softmaxes = 0, softmax_gradients = 0;
  std::vector<int> tried = {};  // algorithms
  std::vector<int> maths = {};  // of the convolutions made
  int live_objects = 0;

  // The table; one fake at a time.
  DnnCalls calls();
  // On no device: everything is only counted.
  std::shared_ptr<Dnn> opened() { return Dnn::over(calls()).value(); }
  // Devices that find this fake, and compute there.
  CudaBackend::Options found(CudaBackend::Options backend);
};

}  // namespace argosy::cuda::fake
