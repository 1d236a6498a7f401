// Batch normalisation on a GPU by cuDNN, where it is installed and supports the case. cuDNN keeps 1 / sqrt(variance +
// epsilon) for the gradient. The op's output is the variance instead, as for our own kernels and the CPU's, since any
// of them may compute the gradient. For the same reason reserve_space_3 is not used.
#include <limits>

#include "argosy/ops/by_library.h"
#include "argosy/ops/norm/gpu/dnn_norms.h"
#include "argosy/ops/norm/gpu/gpu_batch_norm.h"

namespace argosy::batch_norm {

namespace {

using cuda::CudaDevice;
using cuda::DnnNormProblem;
using cuda::DnnNorms;

constexpr const char* kModule = "batch_norm";
// Of more, inference is refused, and training by some versions: no documentation says so.
constexpr std::int64_t kMostImages = 65535;

Result<std::shared_ptr<DnnNorms>> norms_of(CudaDevice& device) {
  return cuda::over_dnn<DnnNorms>(device, "batch normalisation by cuDNN");
}

// As the library is to see x; UNIMPLEMENTED where it takes no such sizes.
Result<DnnNormProblem> problem_of(const Options& o, DType dtype, const Shape& x) {
  ARGOSY_ASSIGN_OR_RETURN(const Layout l, o.layout(x));
  if (x.elements() == 0) return unimplemented("cuDNN normalises no empty batch");
  if (o.training && l.count() == 1)
    return unimplemented("cuDNN divides by one row less than there is, and here is one");
  if (x.elements() > std::numeric_limits<int>::max()) return unimplemented("sizes beyond cuDNN's");
  if (x[0] > kMostImages) return unimplemented("cuDNN does not take so many images");
  const int first = o.channels_first ? 2 : 1, width = first + o.rank - 3;  // the first axis of the image, and its last
  std::int64_t height = 1;
  for (int i = first; i < width; ++i) height *= x[i];
  return DnnNormProblem{.dtype = dtype,
                        .nchw = o.channels_first,
                        .n = static_cast<int>(x[0]),
                        .c = static_cast<int>(l.channels),
                        .h = static_cast<int>(height),
                        .w = static_cast<int>(x[width])};
}

// Is there anything to decline by what is known before a step, when nothing is opened yet? `x`: which input that is.
Status takes(const KernelInit& init, const Options& o, int x) {
  if (o.relu || o.sides > 0) return unimplemented("what is fused is done in one pass by our own kernels");
  if (x == 1 && !o.training) return unimplemented("cuDNN has gradients of training only");
  if (o.epsilon < cuda::kDnnLeastEpsilon) return unimplemented("epsilon ", o.epsilon, " is too small for cuDNN");
  if (init.device == nullptr) return unimplemented("no device");
  const PartialShape& shape = init.input_shapes[static_cast<std::size_t>(x)];
  if (shape.is_full()) {
    ARGOSY_ASSIGN_OR_RETURN(const Shape known, shape.full());
    const auto problem = problem_of(o, init.input_dtypes[static_cast<std::size_t>(x)], known);
    if (problem.status().code() == Code::kUnimplemented) return problem.status();
  }
  return cuda::device_of(*init.device).dnn_as_known();
}

class DnnBatchNorm final : public ByLibrary {
 public:
  DnnBatchNorm(std::unique_ptr<Kernel> own, Options options) : ByLibrary(std::move(own)), o_(std::move(options)) {}

 protected:
  Status by_library(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const DnnNormProblem problem, problem_of(o_, c.input(0).dtype(), c.input(0).shape()));
    CudaDevice& device = cuda::device_of(*c.device());
    ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DnnNorms> norms, norms_of(device));
    ARGOSY_ASSIGN_OR_RETURN(const Forward f, begin_forward(c, o_));
    ARGOSY_ASSIGN_OR_RETURN(const cuda::CuStream stream, device.stream());
    const auto input = [&](int i) { return c.input(i).raw_as<const float>(); };
    if (o_.training) {
      for (float* const sum : {f.stats[0], f.stats[1]}) {
        ARGOSY_RETURN_IF_ERROR(device.fill(sum, sizeof(float), 0, static_cast<std::size_t>(problem.c)));
      }
      ARGOSY_RETURN_IF_ERROR(norms->train(problem,
                                          {.x = f.x->raw(),
                                           .scale = input(1),
                                           .offset = input(2),
                                           .y = f.y->raw(),
                                           .mean = f.stats[0],
                                           .variance = f.stats[1],
                                           .kept_mean = f.stats[2],
                                           .kept_inverse = f.stats[3],
                                           .epsilon = o_.epsilon},
                                          static_cast<void*>(stream)));
    } else {
      ARGOSY_RETURN_IF_ERROR(norms->infer(problem,
                                          {.x = f.x->raw(),
                                           .scale = input(1),
                                           .offset = input(2),
                                           .mean = input(3),
                                           .variance = input(4),
                                           .y = f.y->raw(),
                                           .epsilon = o_.epsilon},
                                          static_cast<void*>(stream)));
    }
    return cuda::launch(c, {kModule, "batch_norm_library_statistics"}, cuda::grid_for(f.layout.channels),
                        f.layout.channels, f.layout.count(), vectors_of(c, o_, f, nullptr));
  }

 private:
  const Options o_;
};

class DnnBatchNormGradient final : public ByLibrary {
 public:
  DnnBatchNormGradient(std::unique_ptr<Kernel> own, Options options)
      : ByLibrary(std::move(own)), o_(std::move(options)) {}

 protected:
  Status by_library(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const DnnNormProblem problem, problem_of(o_, c.input(1).dtype(), c.input(1).shape()));
    CudaDevice& device = cuda::device_of(*c.device());
    ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DnnNorms> norms, norms_of(device));
    ARGOSY_ASSIGN_OR_RETURN(const Backward b, begin_backward(c, o_));
    const std::int64_t channels = b.layout.channels;
    ARGOSY_ASSIGN_OR_RETURN(const Buffer inverse, c.scratch(static_cast<std::size_t>(channels) * sizeof(float)));
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "batch_norm_inverse_deviation"}, cuda::grid_for(channels),
                                        channels, c.input(4).raw(), o_.epsilon, inverse.data()));
    ARGOSY_ASSIGN_OR_RETURN(const cuda::CuStream stream, device.stream());
    return norms->gradient(problem,
                           {.dy = b.dy->raw(),
                            .x = b.x->raw(),
                            .scale = c.input(2).raw(),
                            .kept_mean = c.input(3).raw(),
                            .kept_inverse = inverse.data(),
                            .dx = b.dx->raw(),
                            .dscale = b.dscale->raw(),
                            .doffset = b.doffset->raw(),
                            .epsilon = o_.epsilon},
                           static_cast<void*>(stream));
  }

 private:
  const Options o_;
};

template <typename Made>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init, KernelFactory own, int x) {
  ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
  ARGOSY_RETURN_IF_ERROR(takes(init, options, x));
  ARGOSY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> behind, own(init));
  return std::unique_ptr<Kernel>(std::make_unique<Made>(std::move(behind), std::move(options)));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_by_dnn(const KernelInit& init) { return make<DnnBatchNorm>(init, make_own, 0); }
Result<std::unique_ptr<Kernel>> make_gradient_by_dnn(const KernelInit& init) {
  return make<DnnBatchNormGradient>(init, make_own_gradient, 1);
}

}  // namespace argosy::batch_norm
