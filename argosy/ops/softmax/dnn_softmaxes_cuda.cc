#include "argosy/ops/softmax/dnn_softmaxes.h"

namespace argosy::cuda {

template <typename Call>
Status DnnSoftmaxes::ask(const DnnSoftmaxProblem& p, void* stream, const Call& call) {
  const DnnCalls& calls = dnn_->calls();
  const auto make = [&](Plan& plan) {
    int status = plan.matrix.make(calls.tensor_create, calls.tensor_destroy);
    // A row is an image of n channels, of one pixel each.
    if (status == 0) status = calls.tensor_set(plan.matrix.get(), kDnnNchw, dnn_type(p.dtype), p.rows, p.n, 1, 1);
    return dnn_->answer("a descriptor", status);
  };
  return dnn_->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const Plan* const plan, plans_.of(p, make));
    return dnn_->answer("a softmax", call(handle, plan->matrix.get()));
  });
}

Status DnnSoftmaxes::forward(const DnnSoftmaxProblem& p, const void* x, void* y, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, DnnTensor matrix) {
    return dnn_->calls().softmax(handle, p.algorithm, kDnnOfImage, dnn_one(p.dtype), matrix, x, dnn_zero(p.dtype),
                                 matrix, y);
  });
}

Status DnnSoftmaxes::gradient(const DnnSoftmaxProblem& p, const void* y, const void* dy, void* dx, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, DnnTensor matrix) {
    return dnn_->calls().softmax_gradient(handle, p.algorithm, kDnnOfImage, dnn_one(p.dtype), matrix, y, matrix, dy,
                                          dnn_zero(p.dtype), matrix, dx);
  });
}

}  // namespace argosy::cuda
