// The activations of float32 and float64 as vector functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/activation/activation_spans_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>
#include "argosy/ops/activation/activation_functors.h"
#include "argosy/ops/activation/activation_spans.h"
#include "argosy/ops/elementwise/functions/spans.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::activation {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): this target's spans

// Vector functions have the names of the scalar functions, which the loops below use.
template <class F>
struct Here {
  template <typename... T>
  static HWY_INLINE auto call(T... x) {
    return F::call(x...);
  }
};

// exp(x) - 1 below zero; a NaN is not below zero and passes.
template <class D, class V>
HWY_INLINE V expm1_below(D d, V x) {
  return hn::Expm1(d, hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), x));
}

struct VectorElu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), expm1_below(d, x), x);
  }
};
struct VectorSelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const auto below = hn::Mul(hn::Set(d, static_cast<T>(kSeluScaleAlpha)), expm1_below(d, x));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Mul(hn::Set(d, static_cast<T>(kSeluScale)), x));
  }
};
struct VectorSoftplus {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const auto positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    return hn::Add(positive, hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(x)))));
  }
};
struct VectorSoftplusGrad {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    using T = hn::TFromD<D>;
    const auto largest = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 88 : 706));  // whose exponential is finite
    const auto minus = hn::Neg(x);
    const auto e = hn::Exp(d, hn::IfThenElse(hn::Gt(minus, largest), largest, minus));
    const auto slope = hn::IfThenZeroElse(hn::Gt(minus, largest), hn::Div(dy, hn::Add(e, hn::Set(d, T(1)))));
    return hn::IfThenElse(hn::IsNaN(x), x, slope);
  }
};

template <typename T>
void leaky_loop(const T* x, T* y, std::int64_t n, T alpha) {
  ARGOSY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : alpha * x[i];
}
template <typename T>
void leaky_grad_loop(const T* d, const T* x, T* dx, std::int64_t n, T alpha) {
  ARGOSY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) dx[i] = x[i] > 0 ? d[i] : alpha * d[i];
}

}  // namespace

std::span<const UnaryRow> unary_rows_here() {
  static constexpr UnaryRow kRows[] = {
      {"Relu", DType::kFloat32, loop_span<Here<Relu>, float>},
      {"Relu", DType::kFloat64, loop_span<Here<Relu>, double>},
      {"Relu", DType::kBfloat16, half_span<Here<Relu>>},
      {"Relu6", DType::kFloat32, loop_span<Here<Relu6>, float>},
      {"Relu6", DType::kFloat64, loop_span<Here<Relu6>, double>},
      {"Elu", DType::kFloat32, vector_span<VectorElu, float>, Work::kFunction},
      {"Elu", DType::kFloat64, vector_span<VectorElu, double>, Work::kFunction},
      {"Selu", DType::kFloat32, vector_span<VectorSelu, float>, Work::kFunction},
      {"Selu", DType::kFloat64, vector_span<VectorSelu, double>, Work::kFunction},
      {"Softplus", DType::kFloat32, vector_span<VectorSoftplus, float>, Work::kFunction},
      {"Softplus", DType::kFloat64, vector_span<VectorSoftplus, double>, Work::kFunction},
  };
  return kRows;
}

std::span<const BinaryRow> binary_rows_here() {
  static constexpr BinaryRow kRows[] = {
      {"ReluGrad", DType::kFloat32, loop_spans<Here<ReluGrad>, float>(), Work::kArithmetic, same_shape},
      {"ReluGrad", DType::kFloat64, loop_spans<Here<ReluGrad>, double>(), Work::kArithmetic, same_shape},
      {"ReluGrad", DType::kBfloat16, half_spans<Here<ReluGrad>>(), Work::kArithmetic, same_shape},
      {"Relu6Grad", DType::kFloat32, loop_spans<Here<Relu6Grad>, float>(), Work::kArithmetic, same_shape},
      {"Relu6Grad", DType::kFloat64, loop_spans<Here<Relu6Grad>, double>(), Work::kArithmetic, same_shape},
      {"EluGrad", DType::kFloat32, loop_spans<Here<EluGrad>, float>(), Work::kArithmetic, same_shape},
      {"EluGrad", DType::kFloat64, loop_spans<Here<EluGrad>, double>(), Work::kArithmetic, same_shape},
      {"SeluGrad", DType::kFloat32, loop_spans<Here<SeluGrad>, float>(), Work::kArithmetic, same_shape},
      {"SeluGrad", DType::kFloat64, loop_spans<Here<SeluGrad>, double>(), Work::kArithmetic, same_shape},
      {"SoftplusGrad", DType::kFloat32, vector_spans<VectorSoftplusGrad, float>(), Work::kFunction, same_shape},
      {"SoftplusGrad", DType::kFloat64, vector_spans<VectorSoftplusGrad, double>(), Work::kFunction, same_shape},
  };
  return kRows;
}

void leaky_f32(const float* x, float* y, std::int64_t n, float alpha) { leaky_loop(x, y, n, alpha); }
void leaky_f64(const double* x, double* y, std::int64_t n, double alpha) { leaky_loop(x, y, n, alpha); }
void leaky_grad_f32(const float* d, const float* x, float* dx, std::int64_t n, float alpha) {
  leaky_grad_loop(d, x, dx, n, alpha);
}
void leaky_grad_f64(const double* d, const double* x, double* dx, std::int64_t n, double alpha) {
  leaky_grad_loop(d, x, dx, n, alpha);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::activation
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::activation {

HWY_EXPORT(unary_rows_here);
HWY_EXPORT(binary_rows_here);
HWY_EXPORT(leaky_f32);
HWY_EXPORT(leaky_f64);
HWY_EXPORT(leaky_grad_f32);
HWY_EXPORT(leaky_grad_f64);

std::span<const UnaryRow> unary_rows() { return HWY_DYNAMIC_DISPATCH(unary_rows_here)(); }
std::span<const BinaryRow> binary_rows() { return HWY_DYNAMIC_DISPATCH(binary_rows_here)(); }
void leaky(const float* x, float* y, std::int64_t n, float alpha) { HWY_DYNAMIC_DISPATCH(leaky_f32)(x, y, n, alpha); }
void leaky(const double* x, double* y, std::int64_t n, double alpha) {
  HWY_DYNAMIC_DISPATCH(leaky_f64)(x, y, n, alpha);
}
void leaky_grad(const float* d, const float* x, float* dx, std::int64_t n, float alpha) {
  HWY_DYNAMIC_DISPATCH(leaky_grad_f32)(d, x, dx, n, alpha);
}
void leaky_grad(const double* d, const double* x, double* dx, std::int64_t n, double alpha) {
  HWY_DYNAMIC_DISPATCH(leaky_grad_f64)(d, x, dx, n, alpha);
}

}  // namespace argosy::activation
#endif
