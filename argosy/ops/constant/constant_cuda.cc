// Constants, and ops that forward tensors, on a GPU.
#include "argosy/base/mutex.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/broadcast/broadcast_to.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

namespace {

using cuda::kGpuTypes;

// Copies its value to the GPU in the first run, and keeps it there.
class Const final : public Kernel {
 public:
  explicit Const(Tensor value) : value_(std::move(value)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Const>(init.attrs.get<Tensor>("value")));
  }
  Status run(KernelContext& c) override {
    Tensor there;
    {
      MutexLock lock(mutex_);
      if (!there_.valid()) {
        ARGOSY_ASSIGN_OR_RETURN(Tensor fresh, Tensor::allocate(value_.dtype(), value_.shape(), c.allocator()));
        ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).upload(fresh.raw(), value_.raw(), value_.bytes()));
        there_ = std::move(fresh);
      }
      there = there_;
    }
    c.set_output(0, std::move(there));
    return ok_status();
  }

 private:
  const Tensor value_;
  Mutex mutex_;
  Tensor there_ ARGOSY_GUARDED_BY(mutex_);
};

// Sets every element to a number that is known on the host.
Status fill_with(KernelContext& c, int output, const Shape& shape, double number) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, shape));
  cuda::GpuCopyEngine copy_engine(c);
  if (y->dtype() == DType::kBool) {
    const bool value = number != 0;
    copy_engine.fill(y->raw(), y->elements(), 1, &value);
    return copy_engine.status();
  }
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(y->dtype(), "fill", [&]<typename T>() {
    const T value(static_cast<float>(number));
    copy_engine.fill(y->raw(), y->elements(), sizeof(T), &value);
    return ok_status();
  }));
  return copy_engine.status();
}

Status zeros_like(KernelContext& c) { return fill_with(c, 0, c.input(0).shape(), 0); }
Status ones_like(KernelContext& c) { return fill_with(c, 0, c.input(0).shape(), 1); }

Status fill(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "Fill: dims"));
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("Fill: value must be a scalar, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return cuda::broadcast_on_gpu(c, c.input(1), *y);
}

Status broadcast_to(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_broadcast_to(c));
  if (shape == x.shape()) return forward_input(c, 0, x);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return cuda::broadcast_on_gpu(c, x, *y);
}

}  // namespace

void add_kernels_cuda_constant(KernelRegistry& kernels) {
  std::vector<DType> on_host = {DType::kInt32, DType::kString, DType::kResource, DType::kVariant};
  kernels.add("Const", "cuda", Const::make, {{"dtype", kGpuTypes}});
  kernels.add("Const", "cuda", cuda::make_on_host, {{"dtype", on_host}});
  for (const char* op :
       {"Identity", "Snapshot", "StopGradient", "PreventGradient", "DebugGradientIdentity", "IdentityN",
        "PlaceholderWithDefault", "Placeholder", "PlaceholderV2", "_Arg", "NoOp", "_ShapeError"}) {
    kernels.add(op, "cuda", cuda::make_on_host);
  }
  kernels.add("ZerosLike", "cuda", cuda::make_launching<zeros_like>, {{"T", kGpuTypes}});
  kernels.add("OnesLike", "cuda", cuda::make_launching<ones_like>, {{"T", kGpuTypes}});
  kernels.add("Fill", "cuda", cuda::make_launching<fill>, {{"T", kGpuTypes}});
  kernels.add("BroadcastTo", "cuda", cuda::make_launching<broadcast_to>, {{"T", kGpuTypes}});
  for (const char* op : {"ZerosLike", "OnesLike", "Fill", "BroadcastTo"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
  kernels.add("BroadcastGradientArgs", "cuda", cuda::make_on_host);
  kernels.add("BroadcastArgs", "cuda", cuda::make_on_host);
}

}  // namespace argosy
