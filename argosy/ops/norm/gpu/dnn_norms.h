// Batch normalisation as cuDNN is asked for it.
#pragma once

#include <compare>

#include "argosy/device/cuda/dnn/dnn.h"

namespace argosy::cuda {

// Images as the library sees them. Statistics are float32, one number a channel.
struct DnnNormProblem {
  DType dtype = DType::kFloat32;
  bool nchw = false;
  int n = 0, c = 0, h = 0, w = 0;
  auto operator<=>(const DnnNormProblem&) const = default;
};

// The batch normalisations of one device; all they are given is its memory. UNIMPLEMENTED: the library does not take
// the problem, nothing was started. The library's routines for these give the same bits in every run on one kind of
// GPU (its documentation names those that do not). Thread-safe.
class DnnNorms {
 public:
  explicit DnnNorms(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}

  struct Training {
    const void *x, *scale, *offset;
    void* y;
    // The batch's statistics, with Bessel's correction. Zeros before: what is there is added in, times zero.
    void *mean, *variance;
    void *kept_mean, *kept_inverse;  // the batch's, and 1 / sqrt(variance + epsilon)
    double epsilon;
  };
  Status train(const DnnNormProblem& problem, const Training& at, void* stream);

  struct Inference {
    const void *x, *scale, *offset, *mean, *variance;
    void* y;
    double epsilon;
  };
  Status infer(const DnnNormProblem& problem, const Inference& at, void* stream);

  // Of train().
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
  // call(handle, images, channels) gives the library's answer.
  template <typename Call>
  Status ask(const DnnNormProblem& problem, void* stream, const Call& call);

  const std::shared_ptr<Dnn> dnn_;
  DnnPlans<DnnNormProblem, Plan> plans_;
};

}  // namespace argosy::cuda
