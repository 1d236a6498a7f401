// Softmax on a GPU by cuDNN, where it is installed and supports the case.
#include <limits>

#include "argosy/ops/by_library.h"
#include "argosy/ops/softmax/dnn_softmaxes.h"
#include "argosy/ops/softmax/gpu_softmax.h"
#include "argosy/ops/softmax/softmax_inputs.h"

namespace argosy::gpu_softmax {

namespace {

using cuda::CudaDevice;
using cuda::DnnSoftmaxes;
using cuda::DnnSoftmaxProblem;

// Below, starting it is what takes time, and to ask the library takes longer. A guess until a GPU has been asked.
constexpr std::int64_t kLeastElements = std::int64_t{1} << 14;

// As the library is to see the rows; UNIMPLEMENTED where they are not for it.
Result<DnnSoftmaxProblem> problem_of(int algorithm, DType dtype, std::int64_t rows, std::int64_t n) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (rows * n < kLeastElements) return unimplemented("so few numbers are sooner done by our own kernel");
  if (rows * n > kMost) return unimplemented("sizes beyond cuDNN's");
  return DnnSoftmaxProblem{algorithm, dtype, static_cast<int>(rows), static_cast<int>(n)};
}

// Is there anything to decline by what is known before a step, when nothing is opened yet?
Status takes(const KernelInit& init) {
  if (init.device == nullptr) return unimplemented("no device");
  const PartialShape& shape = init.input_shapes[0];
  if (shape.is_full() && shape.rank() > 0) {
    ARGOSY_ASSIGN_OR_RETURN(const Shape known, shape.full());
    const std::int64_t n = std::max<std::int64_t>(known.back(), 1);
    ARGOSY_RETURN_IF_ERROR(problem_of(0, init.input_dtypes[0], known.elements() / n, n).status());
  }
  return cuda::device_of(*init.device).dnn_as_known();
}

class DnnSoftmax final : public ByLibrary {
 public:
  DnnSoftmax(std::unique_ptr<Kernel> own, int algorithm, bool gradient)
      : ByLibrary(std::move(own)), algorithm_(algorithm), gradient_(gradient) {}

 protected:
  Status by_library(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const softmax_inputs::Rows r, softmax_inputs::check_rows(c));
    ARGOSY_ASSIGN_OR_RETURN(const DnnSoftmaxProblem problem, problem_of(algorithm_, x.dtype(), r.rows, r.n));
    CudaDevice& device = cuda::device_of(*c.device());
    ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DnnSoftmaxes> softmaxes,
                            cuda::over_dnn<DnnSoftmaxes>(device, "softmax by cuDNN"));
    // It says of the gradient's dy alone that results may lie on it.
    Tensor* out = nullptr;
    if (gradient_) {
      ARGOSY_ASSIGN_OR_RETURN(out, c.output(0, x.shape(), {1}));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(out, c.output(0, x.shape()));
    }
    if (out->raw() == x.raw()) return unimplemented("cuDNN does not say that it works in place");
    ARGOSY_ASSIGN_OR_RETURN(const cuda::CuStream stream, device.stream());
    if (gradient_)
      return softmaxes->gradient(problem, x.raw(), c.input(1).raw(), out->raw(), static_cast<void*>(stream));
    return softmaxes->forward(problem, x.raw(), out->raw(), static_cast<void*>(stream));
  }

 private:
  const int algorithm_;
  const bool gradient_;
};

}  // namespace

template <Kind kKind>
Result<std::unique_ptr<Kernel>> make_by_dnn(const KernelInit& init) {
  ARGOSY_RETURN_IF_ERROR(takes(init));
  ARGOSY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> behind, cuda::make_launching<own<kKind>>(init));
  const int algorithm = kKind == Kind::kSoftmax ? cuda::kDnnSoftmax : cuda::kDnnLogSoftmax;
  return std::unique_ptr<Kernel>(std::make_unique<DnnSoftmax>(std::move(behind), algorithm, false));
}
template Result<std::unique_ptr<Kernel>> make_by_dnn<Kind::kSoftmax>(const KernelInit&);
template Result<std::unique_ptr<Kernel>> make_by_dnn<Kind::kLogSoftmax>(const KernelInit&);

Result<std::unique_ptr<Kernel>> make_gradient_by_dnn(const KernelInit& init) {
  ARGOSY_RETURN_IF_ERROR(takes(init));
  ARGOSY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> behind, make_own_gradient(init));
  const int algorithm = init.attrs.get_bool("logarithm") ? cuda::kDnnLogSoftmax : cuda::kDnnSoftmax;
  return std::unique_ptr<Kernel>(std::make_unique<DnnSoftmax>(std::move(behind), algorithm, true));
}

}  // namespace argosy::gpu_softmax
