// A fake cuDNN that computes with our own kernels, and fails where a test asks for it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "argosy/device/cuda/cuda_backend.h"
#include "argosy/device/cuda/dnn/dnn.h"

namespace argosy::cuda {

struct DnnHandleObject {
  CudaDevice* device = nullptr;  // computes everything; null: nothing is computed
  void* stream = nullptr;
};
struct DnnTensorObject {
  int format = 0, type = 0, n = 0, c = 0, h = 0, w = 0;
};
struct DnnPoolingObject {
  int mode = 0, nan = 0, window_h = 1, window_w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

}  // namespace argosy::cuda

namespace argosy::cuda::fake {

struct FakeDnn {
  struct Engine {
    int number = 1;
    std::int64_t workspace_bytes = 0;
    std::vector<int> notes = {};
  };
  std::vector<Engine> engines = {{.number = 1, .workspace_bytes = 64}, {.number = 2}};
  std::map<int, int> status_of = {};                             // the status of a convolution by this engine
  std::map<int, int> plan_status_of = {};                        // the status of making its plan
  int only_format = -1;                                          // the only format with an engine; -1: both
  bool fuses = true;                                             // relu(convolution + bias) has an engine
  bool pads_unlike = true;                                       // unequal padding at both ends has one
  int norms_answer = 0, pools_answer = 0, softmaxes_answer = 0;  // their status instead of 0
  std::size_t library_version = 90500;

  int convolutions = 0, fused = 0, graphs = 0;
  int trainings = 0, inferences = 0, norm_gradients = 0, pools = 0, pool_gradients = 0;
  int softmaxes = 0, softmax_gradients = 0;
  std::vector<int> tried = {};  // engines
  int live_objects = 0;

  // The table; one fake at a time.
  DnnCalls calls();
  // Without a device: calls are only counted.
  std::shared_ptr<Dnn> opened() { return Dnn::over(calls()).value(); }
  // Options for devices that find this fake and compute on them.
  CudaBackend::Options found(CudaBackend::Options backend);
};

}  // namespace argosy::cuda::fake
