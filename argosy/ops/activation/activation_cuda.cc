// Biases on a GPU; activations are rows of the elementwise family.
#include "argosy/ops/activation/bias_channels.h"
#include "argosy/ops/reduction/reduce_gpu.h"

namespace argosy {

namespace {

class Bias final : public Kernel {
 public:
  Bias(bool gradient, bool nchw) : gradient_(gradient), nchw_(nchw) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Bias>(
        init.op.name == "BiasAddGrad", init.attrs.get_or<std::string>("data_format", "NHWC") == "NCHW"));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const BiasChannels at,
                            channels_of(gradient_ ? "BiasAddGrad" : "BiasAdd", x.shape(), nchw_));
    if (gradient_) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {at.channels}));
      if (at.channels == 0) return ok_status();
      std::vector<reduction::Group> groups = {{at.outer, true}, {at.channels, false}};
      if (at.inner != 1) groups.push_back({at.inner, true});
      return cuda::reduce_on_gpu(c, "sum", x.dtype(), x.raw(), std::move(groups), y->raw());
    }
    const Shape& bias = c.input(1).shape();
    if (bias.rank() != 1 || bias[0] != at.channels) {
      return invalid_argument("BiasAdd: bias of shape ", bias, " for ", at.channels, " channels of ", x.shape())
          .with_id("ARG-SHAPE-014");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    const std::int64_t n = x.elements();
    cuda::StridedIndex<2> strided{
        .rank = at.inner == 1 ? 2 : 3, .sizes = {at.outer, at.channels, at.inner}, .strides = {}};
    const std::int64_t strides[2][3] = {{at.channels * at.inner, at.inner, 1}, {0, 1, 0}};
    for (int k = 0; k < 2; ++k) {
      for (int axis = 0; axis < 3; ++axis) strided.strides[k][axis] = strides[k][axis];
    }
    return cuda::launch(c, {"arithmetic", str_cat("binary_Add_", cuda::type_suffix(x.dtype()))},
                        cuda::grid_for_vecs(n, element_bytes(x.dtype())), n, x.raw(), c.input(1).raw(), y->raw(),
                        strided);
  }

 private:
  const bool gradient_, nchw_;
};

}  // namespace

void add_kernels_cuda_activation(KernelRegistry& kernels) {
  for (const char* op : {"BiasAdd", "BiasAddV1", "BiasAddGrad"}) {
    kernels.add(op, "cuda", Bias::make, {{"T", cuda::kFloatingTypes}});
  }
}

}  // namespace argosy
