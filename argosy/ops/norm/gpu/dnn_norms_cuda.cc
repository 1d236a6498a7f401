#include "argosy/ops/norm/gpu/dnn_norms.h"

namespace argosy::cuda {

template <typename Call>
Status DnnNorms::ask(const DnnNormProblem& p, void* stream, const Call& call) {
  const DnnCalls& calls = dnn_->calls();
  const auto make = [&](Plan& plan) {
    int status = plan.images.make(calls.tensor_create, calls.tensor_destroy);
    if (status == 0) status = plan.channels.make(calls.tensor_create, calls.tensor_destroy);
    const int format = p.nchw ? kDnnNchw : kDnnNhwc;
    if (status == 0) status = calls.tensor_set(plan.images.get(), format, dnn_type(p.dtype), p.n, p.c, p.h, p.w);
    if (status == 0) status = calls.tensor_set(plan.channels.get(), kDnnNchw, kDnnFloat, 1, p.c, 1, 1);
    return dnn_->answer("a descriptor", status);
  };
  return dnn_->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const Plan* const plan, plans_.of(p, make));
    return dnn_->answer("a batch normalisation", call(handle, plan->images.get(), plan->channels.get()));
  });
}

Status DnnNorms::train(const DnnNormProblem& p, const Training& at, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, DnnTensor images, DnnTensor channels) {
    return dnn_->calls().normalise_training(handle, kDnnPerChannel, dnn_one(p.dtype), dnn_zero(p.dtype), images, at.x,
                                            images, at.y, channels, at.scale, at.offset, 1.0, at.mean, at.variance,
                                            at.epsilon, at.kept_mean, at.kept_inverse);
  });
}

Status DnnNorms::infer(const DnnNormProblem& p, const Inference& at, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, DnnTensor images, DnnTensor channels) {
    return dnn_->calls().normalise_inference(handle, kDnnPerChannel, dnn_one(p.dtype), dnn_zero(p.dtype), images, at.x,
                                             images, at.y, channels, at.scale, at.offset, at.mean, at.variance,
                                             at.epsilon);
  });
}

Status DnnNorms::gradient(const DnnNormProblem& p, const Gradient& at, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, DnnTensor images, DnnTensor channels) {
    const void *const one = dnn_one(p.dtype), *const zero = dnn_zero(p.dtype);
    return dnn_->calls().normalise_gradient(handle, kDnnPerChannel, one, zero, one, zero, images, at.x, images, at.dy,
                                            images, at.dx, channels, at.scale, at.dscale, at.doffset, at.epsilon,
                                            at.kept_mean, at.kept_inverse);
  });
}

}  // namespace argosy::cuda
