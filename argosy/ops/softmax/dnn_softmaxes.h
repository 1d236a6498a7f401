// DnnSoftmaxes: softmax by cuDNN.
#pragma once

#include <compare>

#include "argosy/device/cuda/dnn/dnn.h"

namespace argosy::cuda {

// Rows of `n` numbers each.
struct DnnSoftmaxProblem {
  int algorithm = kDnnSoftmax;  // dnn_calls.h
  DType dtype = DType::kFloat32;
  int rows = 0, n = 0;
  auto operator<=>(const DnnSoftmaxProblem&) const = default;
};

// Softmax by the cuDNN of one device. All pointers are addresses in that device's memory. UNIMPLEMENTED: the library
// does not support the problem, and nothing was launched. Thread-safe.
class DnnSoftmaxes {
 public:
  explicit DnnSoftmaxes(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}

  // REQUIRES: y does not alias x.
  Status forward(const DnnSoftmaxProblem& problem, const void* x, void* y, void* stream);
  // dx may alias dy.
  Status gradient(const DnnSoftmaxProblem& problem, const void* y, const void* dy, void* dx, void* stream);

 private:
  struct Plan {
    DnnObject<DnnTensor> matrix;
  };
  template <typename Call>
  Status ask(const DnnSoftmaxProblem& problem, void* stream, const Call& call);

  const std::shared_ptr<Dnn> dnn_;
  DnnPlans<DnnSoftmaxProblem, Plan> plans_;
};

}  // namespace argosy::cuda
