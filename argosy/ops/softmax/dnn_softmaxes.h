// Softmax as cuDNN is asked for it.
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

// The softmaxes of one device; all they are given is its memory. UNIMPLEMENTED: the library does not take the problem,
// nothing was started. Thread-safe.
class DnnSoftmaxes {
 public:
  explicit DnnSoftmaxes(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}

  // REQUIRES: y is not x's memory.
  Status forward(const DnnSoftmaxProblem& problem, const void* x, void* y, void* stream);
  // dx may be dy's memory.
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
