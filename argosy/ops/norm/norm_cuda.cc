// Layer and local response normalisation on a GPU; batch normalisation is in batch_norm_cuda.cc.
#include <algorithm>

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/norm/layer_norm_inputs.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

void add_kernels_cuda_batch_norm(KernelRegistry& kernels);

namespace {

// A block a row, of a thread for every four elements.
cuda::LaunchShape row_grid(const LayerNormRows& r) {
  const std::int64_t threads = std::clamp<std::int64_t>((r.n + 127) / 128 * 32, 32, 256);
  return {.grid = {.x = static_cast<unsigned>(std::min<std::int64_t>(r.rows, cuda::kMostBlocks))},
          .block = {.x = static_cast<unsigned>(threads)}};
}

class LayerNorm final : public Kernel {
 public:
  explicit LayerNorm(float epsilon) : epsilon_(epsilon) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LayerNorm>(init.attrs.get_float("epsilon")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const LayerNormRows r, check_layer_norm(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    return cuda::launch(c, {"layer_norm", str_cat("layer_norm_", cuda::type_suffix(x.dtype()))}, row_grid(r), r.rows,
                        r.n, x.raw(), c.input(1).raw(), c.input(2).raw(), epsilon_, y->raw());
  }

 private:
  const float epsilon_;
};

class LayerNormGrad final : public Kernel {
 public:
  explicit LayerNormGrad(float epsilon) : epsilon_(epsilon) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LayerNormGrad>(init.attrs.get_float("epsilon")));
  }
  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &x = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const LayerNormRows r, check_layer_norm_grad(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dscale, c.output(1, {r.n}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const doffset, c.output(2, {r.n}));
    if (r.n == 0) return ok_status();
    const std::size_t wide = x.dtype() == DType::kFloat64 ? 8 : 4;
    const std::string suffix(cuda::type_suffix(x.dtype()));
    // Threads enough for any GPU, of no fewer rows than these.
    const int chunks = static_cast<int>(std::clamp<std::int64_t>(std::min((1 << 16) / r.n, r.rows / 16), 1, 256));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer moments, c.scratch(static_cast<std::size_t>(2 * r.rows) * wide));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer parts, c.scratch(static_cast<std::size_t>(2 * chunks * r.n) * wide));
    const auto start = [&](const char* kernel, const cuda::LaunchShape& shape, const auto&... arguments) {
      return cuda::launch(c, {"layer_norm", kernel + suffix}, shape, arguments...);
    };
    ARGOSY_RETURN_IF_ERROR(start("layer_norm_grad_", row_grid(r), r.rows, r.n, dy.raw(), x.raw(), c.input(2).raw(),
                                 epsilon_, dx->raw(), moments.data()));
    ARGOSY_RETURN_IF_ERROR(start("layer_norm_columns_", cuda::grid_for(chunks * r.n), r.rows, r.n, chunks, dy.raw(),
                                 x.raw(), moments.data(), parts.data()));
    return start("layer_norm_merge_", cuda::grid_for(r.n), r.n, chunks, parts.data(), dscale->raw(), doffset->raw());
  }

 private:
  const float epsilon_;
};

// As in lrn_cuda.cu.
struct LrnNumbers {
  std::int64_t elements, channels, radius;
  float bias, alpha, beta;
};

class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInit& init)
      : op_(init.op.name),
        numbers_{.elements = 0,
                 .channels = 1,
                 .radius = init.attrs.get_int("depth_radius"),
                 .bias = init.attrs.get_float("bias"),
                 .alpha = init.attrs.get_float("alpha"),
                 .beta = init.attrs.get_float("beta")} {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Lrn>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& first = c.input(0);
    ARGOSY_RETURN_IF_ERROR(check_depth_radius(op_, numbers_.radius));
    if (first.shape().rank() != 4) {
      return invalid_argument(op_, ": images must have rank 4, not shape ", first.shape()).with_id("ARG-SHAPE-004");
    }
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() == first.shape()) continue;
      return invalid_argument(op_, ": input ", i, " must have shape ", first.shape(), ", not ", c.input(i).shape())
          .with_id("ARG-SHAPE-013");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, first.shape()));
    if (out->elements() == 0) return ok_status();
    LrnNumbers n = numbers_;
    n.elements = out->elements();
    n.channels = first.shape().back();
    const cuda::LaunchShape shape = cuda::grid_for(n.elements);
    const std::string suffix(cuda::type_suffix(out->dtype()));
    if (c.num_inputs() == 1) return cuda::launch(c, {"lrn", "lrn_" + suffix}, shape, n, first.raw(), out->raw());
    ARGOSY_ASSIGN_OR_RETURN(const Buffer norm, c.scratch(static_cast<std::size_t>(n.elements) * sizeof(float)));
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {"lrn", "lrn_norm_" + suffix}, shape, n, c.input(1).raw(), norm.data()));
    return cuda::launch(c, {"lrn", "lrn_grad_" + suffix}, shape, n, first.raw(), c.input(1).raw(), c.input(2).raw(),
                        norm.data(), out->raw());
  }

 private:
  const std::string op_;
  const LrnNumbers numbers_;
};

}  // namespace

void add_kernels_cuda_norm(KernelRegistry& kernels) {
  add_kernels_cuda_batch_norm(kernels);
  kernels.add("_LayerNorm", "cuda", LayerNorm::make, {{"T", cuda::kFloatingTypes}});
  kernels.add("_LayerNormGrad", "cuda", LayerNormGrad::make, {{"T", cuda::kFloatingTypes}});
  for (const char* op : {"LRN", "LRNGrad"}) {
    kernels.add(op, "cuda", Lrn::make, {{"T", {DType::kFloat32, DType::kFloat16, DType::kBfloat16}}});
  }
}

}  // namespace argosy
