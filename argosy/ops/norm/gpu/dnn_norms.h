// DnnNorms: batch normalisation by cuDNN.
#pragma once

#include <compare>

#include "argosy/device/cuda/dnn/dnn.h"

namespace argosy::cuda {

// The images of a call. Scale, offset and statistics are float32 vectors [channels].
struct DnnNormProblem {
  DType dtype = DType::kFloat32;
  bool nchw = false;
  int n = 0, c = 0, h = 0, w = 0;
  auto operator<=>(const DnnNormProblem&) const = default;
};

// Batch normalisation by the cuDNN of one device. All pointers are addresses in that device's memory. UNIMPLEMENTED:
// the library does not support the problem, and nothing was launched. Results are deterministic on one kind of GPU:
// these routines are not among those that cuDNN's documentation excepts. Thread-safe.
class DnnNorms {
 public:
  explicit DnnNorms(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}

  struct Training {
    const void *x, *scale, *offset;
    void* y;
    // The batch's statistics, with Bessel's correction. REQUIRES: they hold finite numbers, such as zeros, before the
    // call: the library multiplies them by 0 and adds them in.
    void *mean, *variance;
    void *kept_mean, *kept_inverse;  // the batch's mean, and 1 / sqrt(variance + epsilon)
    double epsilon;
  };
  Status train(const DnnNormProblem& problem, const Training& at, void* stream);

  struct Inference {
    const void *x, *scale, *offset, *mean, *variance;
    void* y;
    double epsilon;
  };
  Status infer(const DnnNormProblem& problem, const Inference& at, void* stream);

  // The gradient of train().
  struct Gradient {
    const void *dy, *x, *scale, *kept_mean, *kept_inverse;
    void *dx, *dscale, *doffset;
    double epsilon;
  };
  Status gradient(const DnnNormProblem& problem, const Gradient& at, void* stream);

 private:
  struct Plan {
    DnnObject<DnnTensor> images, channels;
  };
  // Calls call(handle, images, channels), which returns the library's status.
  template <typename Call>
  Status ask(const DnnNormProblem& problem, void* stream, const Call& call);

  const std::shared_ptr<Dnn> dnn_;
  DnnPlans<DnnNormProblem, Plan> plans_;
};

}  // namespace argosy::cuda
