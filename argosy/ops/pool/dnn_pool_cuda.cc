// Pooling on a GPU by cuDNN, where it is installed and supports the case.
#include "argosy/ops/by_library.h"
#include "argosy/ops/pool/dnn_pools.h"
#include "argosy/ops/pool/gpu_pool.h"

namespace argosy {

namespace {

using cuda::CudaDevice;
using cuda::DnnPoolProblem;
using cuda::DnnPools;

Result<std::shared_ptr<DnnPools>> pools_of(CudaDevice& device) {
  return cuda::over_dnn<DnnPools>(device, "pooling by cuDNN");
}

// As the library is to see the images; UNIMPLEMENTED where it takes no such ones.
Result<DnnPoolProblem> problem_of(const PoolCall& call, DType dtype, PoolKind kind) {
  const PoolGeometry& g = call.geometry;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (call.image.elements() == 0 || call.pooled.elements() == 0) return unimplemented("cuDNN pools no empty images");
  if (!cuda::pads_alike(g.h) || !cuda::pads_alike(g.w)) {
    return unimplemented("cuDNN pads both ends alike, not ", g.h.pad_before, "+", g.h.pad_after, " rows and ",
                         g.w.pad_before, "+", g.w.pad_after, " columns");
  }
  const auto h = cuda::dnn_axis(g.h), w = cuda::dnn_axis(g.w);
  if (!h || !w || call.image.elements() > kMost || call.pooled.elements() > kMost) {
    return unimplemented("sizes beyond cuDNN's");
  }
  return DnnPoolProblem{.mode = kind == PoolKind::kMax ? cuda::kDnnLargest : cuda::kDnnMeanInside,
                        .dtype = dtype,
                        .nchw = call.nchw,
                        .n = static_cast<int>(call.image[0]),
                        .c = static_cast<int>(call.channels),
                        .h = *h,
                        .w = *w};
}

// Is there anything to decline by what is known before a step, when nothing is opened yet?
Status takes(const KernelInit& init, const PoolAttrs& attrs, PoolKind kind) {
  if (init.device == nullptr) return unimplemented("no device");
  const PartialShape& shape = kind == PoolKind::kAvgGrad ? init.output_shapes[0] : init.input_shapes[0];
  if (shape.is_full() && init.attrs.find("ksize") != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const Shape image, shape.full());
    const auto call = pool_of(attrs, image);
    if (call.ok()) ARGOSY_RETURN_IF_ERROR(problem_of(*call, init.output_dtypes[0], kind).status());
  }
  return cuda::device_of(*init.device).dnn_as_known();
}

template <PoolKind kKind>
class DnnPool final : public ByLibrary {
 public:
  DnnPool(std::unique_ptr<Kernel> own, PoolAttrs attrs) : ByLibrary(std::move(own)), attrs_(std::move(attrs)) {}

 protected:
  Status by_library(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const PoolCall call, begin_pool(c, attrs_, kKind));
    ARGOSY_ASSIGN_OR_RETURN(const DnnPoolProblem problem, problem_of(call, c.output_dtype(0), kKind));
    CudaDevice& device = cuda::device_of(*c.device());
    ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DnnPools> pools, pools_of(device));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, call.output(kKind)));
    ARGOSY_ASSIGN_OR_RETURN(const cuda::CuStream stream, device.stream());
    if constexpr (kKind == PoolKind::kAvgGrad) {
      return pools->mean_gradient(problem, c.input(1).raw(), out->raw(), static_cast<void*>(stream));
    } else {
      return pools->pool(problem, c.input(0).raw(), out->raw(), static_cast<void*>(stream));
    }
  }

 private:
  const PoolAttrs attrs_;
};

}  // namespace

template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_dnn_pool(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(init.op.name, init.attrs));
  ARGOSY_RETURN_IF_ERROR(takes(init, attrs, kKind));
  ARGOSY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> own, make_own_pool<kKind>(init));
  return std::unique_ptr<Kernel>(std::make_unique<DnnPool<kKind>>(std::move(own), std::move(attrs)));
}

template Result<std::unique_ptr<Kernel>> make_dnn_pool<PoolKind::kMax>(const KernelInit&);
template Result<std::unique_ptr<Kernel>> make_dnn_pool<PoolKind::kAvg>(const KernelInit&);
template Result<std::unique_ptr<Kernel>> make_dnn_pool<PoolKind::kAvgGrad>(const KernelInit&);

}  // namespace argosy
