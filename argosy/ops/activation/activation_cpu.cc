#include "argosy/base/threads/parallel.h"
#include "argosy/ops/activation/activation_functors.h"
#include "argosy/ops/activation/activation_spans.h"
#include "argosy/ops/activation/bias.h"
#include "argosy/ops/elementwise/functions/reference_spans.h"

namespace argosy {

namespace activation {

Status same_shape(const Tensor& x, const Tensor& y) {
  if (x.shape() == y.shape()) return ok_status();
  return invalid_argument("gradients and features must have one shape, not ", x.shape(), " and ", y.shape())
      .with_id("ARG-SHAPE-013");
}

std::span<const UnaryRow> reference_unary_rows() {
  using elementwise::add_unary;
  static const std::vector<UnaryRow>* const rows = [] {
    auto* all = new std::vector<UnaryRow>;
    add_unary<Relu>(*all, "Relu", RealTypes{});
    add_unary<Relu6>(*all, "Relu6", RealTypes{});
    add_unary<Elu>(*all, "Elu", FloatTypes{}, Work::kFunction);
    add_unary<Selu>(*all, "Selu", FloatTypes{}, Work::kFunction);
    add_unary<Softplus>(*all, "Softplus", FloatTypes{}, Work::kFunction);
    return all;
  }();
  return *rows;
}

std::span<const BinaryRow> reference_binary_rows() {
  using elementwise::add_binary;
  static const std::vector<BinaryRow>* const rows = [] {
    auto* all = new std::vector<BinaryRow>;
    add_binary<ReluGrad>(*all, "ReluGrad", RealTypes{}, Work::kArithmetic, same_shape);
    add_binary<Relu6Grad>(*all, "Relu6Grad", RealTypes{}, Work::kArithmetic, same_shape);
    add_binary<EluGrad>(*all, "EluGrad", FloatTypes{}, Work::kArithmetic, same_shape);
    add_binary<SeluGrad>(*all, "SeluGrad", FloatTypes{}, Work::kArithmetic, same_shape);
    add_binary<SoftplusGrad>(*all, "SoftplusGrad", FloatTypes{}, Work::kFunction, same_shape);
    return all;
  }();
  return *rows;
}

namespace {

template <std::span<const UnaryRow> (*rows)()>
Result<std::unique_ptr<Kernel>> unary(const KernelInit& init) {
  return make_unary(init, rows());
}
template <std::span<const BinaryRow> (*rows)()>
Result<std::unique_ptr<Kernel>> binary(const KernelInit& init) {
  return make_binary(init, rows());
}

// LeakyRelu and its gradient: the one activation with a parameter.
template <bool grad>
class Leaky final : public Kernel {
 public:
  explicit Leaky(float alpha) : alpha_(alpha) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Leaky>(init.attrs.get_float("alpha")));
  }

  Status run(KernelContext& c) override {
    if constexpr (grad) {
      ARGOSY_RETURN_IF_ERROR(same_shape(c.input(0), c.input(1)));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, c.input(0).shape(), {0, grad ? 1 : 0}));
    return dispatch<FloatTypes>(out->dtype(), "LeakyRelu", [&]<typename T>() {
      parallel_for(out->elements(), grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
        const T* const features = c.input(grad ? 1 : 0).template raw_as<T>() + begin;
        span(c.input(0).template raw_as<T>() + begin, features, out->template raw_as<T>() + begin, end - begin);
      });
      return ok_status();
    });
  }

 private:
  template <typename T>
  void span(const T* d, const T* x, T* to, std::int64_t n) const {
    if constexpr (sizeof(T) == 2) {
      for (std::int64_t i = 0; i < n; ++i) {
        const float from = static_cast<float>(d[i]);
        to[i] = T(static_cast<float>(x[i]) > 0 ? from : alpha_ * from);
      }
    } else if constexpr (grad) {
      leaky_grad(d, x, to, n, static_cast<T>(alpha_));
    } else {
      leaky(x, to, n, static_cast<T>(alpha_));
    }
  }

  float alpha_;
};

}  // namespace
}  // namespace activation

void add_kernels_cpu_activation(KernelRegistry& kernels) {
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "Softplus"}) {
    kernels.add(op, "cpu", activation::unary<activation::unary_rows>);
    kernels.add(op, "cpu", activation::unary<activation::reference_unary_rows>);
  }
  for (const char* op : {"ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad"}) {
    kernels.add(op, "cpu", activation::binary<activation::binary_rows>);
    kernels.add(op, "cpu", activation::binary<activation::reference_binary_rows>);
  }
  kernels.add("LeakyRelu", "cpu", activation::Leaky<false>::make);
  kernels.add("LeakyReluGrad", "cpu", activation::Leaky<true>::make);
  add_kernels_cpu_bias(kernels);
}

}  // namespace argosy
