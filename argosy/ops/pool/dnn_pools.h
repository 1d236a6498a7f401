// DnnPools: pooling by cuDNN.
#pragma once

#include <compare>

#include "argosy/device/cuda/dnn/dnn.h"
#include "argosy/ops/conv/gpu/dnn_axis.h"

namespace argosy::cuda {

struct DnnPoolProblem {
  int mode = kDnnLargest;  // dnn_calls.h
  DType dtype = DType::kFloat32;
  bool nchw = false;
  int n = 0, c = 0;
  DnnAxis h, w;
  auto operator<=>(const DnnPoolProblem&) const = default;
};

// Pooling by the cuDNN of one device. All pointers are addresses in that device's memory. UNIMPLEMENTED: the library
// does not support the problem, and nothing was launched. Thread-safe.
class DnnPools {
 public:
  explicit DnnPools(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}

  Status pool(const DnnPoolProblem& problem, const void* x, void* y, void* stream);
  // The gradient of average pooling, which needs neither x nor y. Max pooling has none here: among equal elements, the
  // library does not specify which one gets the gradient.
  Status mean_gradient(const DnnPoolProblem& problem, const void* dy, void* dx, void* stream);

 private:
  struct Plan {
    DnnObject<DnnTensor> x, y;
    DnnObject<DnnPooling> pooling;
    Status make(const Dnn& dnn, const DnnPoolProblem& p);
  };
  template <typename Call>
  Status ask(const DnnPoolProblem& problem, void* stream, const Call& call);

  const std::shared_ptr<Dnn> dnn_;
  DnnPlans<DnnPoolProblem, Plan> plans_;
};

}  // namespace argosy::cuda
