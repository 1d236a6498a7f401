#include "argosy/ops/pool/dnn_pools.h"

namespace argosy::cuda {

Status DnnPools::Plan::make(const Dnn& dnn, const DnnPoolProblem& p) {
  const DnnCalls& calls = dnn.calls();
  const int format = p.nchw ? kDnnNchw : kDnnNhwc, type = dnn_type(p.dtype);
  int status = x.make(calls.tensor_create, calls.tensor_destroy);
  if (status == 0) status = y.make(calls.tensor_create, calls.tensor_destroy);
  if (status == 0) status = pooling.make(calls.pooling_create, calls.pooling_destroy);
  if (status == 0) status = calls.tensor_set(x.get(), format, type, p.n, p.c, p.h.in, p.w.in);
  if (status == 0) status = calls.tensor_set(y.get(), format, type, p.n, p.c, p.h.out, p.w.out);
  if (status == 0) {
    status = calls.pooling_set(pooling.get(), p.mode, kDnnNanNeverWins, p.h.window, p.w.window, p.h.pad, p.w.pad,
                               p.h.stride, p.w.stride);
  }
  return dnn.answer("a descriptor", status);
}

template <typename Call>
Status DnnPools::ask(const DnnPoolProblem& p, void* stream, const Call& call) {
  const auto make = [&](Plan& plan) { return plan.make(*dnn_, p); };
  return dnn_->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const Plan* const plan, plans_.of(p, make));
    return dnn_->answer("a pooling", call(handle, *plan));
  });
}

Status DnnPools::pool(const DnnPoolProblem& p, const void* x, void* y, void* stream) {
  return ask(p, stream, [&](DnnHandle handle, const Plan& plan) {
    return dnn_->calls().pool(handle, plan.pooling.get(), dnn_one(p.dtype), plan.x.get(), x, dnn_zero(p.dtype),
                              plan.y.get(), y);
  });
}

Status DnnPools::mean_gradient(const DnnPoolProblem& p, const void* dy, void* dx, void* stream) {
  // The library wants x and y here too, and does not read them for means: memory of their sizes stands in for them.
  return ask(p, stream, [&](DnnHandle handle, const Plan& plan) {
    return dnn_->calls().pool_gradient(handle, plan.pooling.get(), dnn_one(p.dtype), plan.y.get(), dy, plan.y.get(), dy,
                                       plan.x.get(), dx, dnn_zero(p.dtype), plan.x.get(), dx);
  });
}

}  // namespace argosy::cuda
