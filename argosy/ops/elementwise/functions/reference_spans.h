// Spans that are plain loops, for every dtype: the last kernel of each op, and the only one for rare dtypes. Private to
// folders of elementwise ops.
#pragma once

#include <vector>

#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/elementwise/functions/functors_bits.h"

namespace argosy::elementwise {

// The type of a stored result: T if it was computed in compute_t<T>; else its own (bool).
template <typename T, typename R>
using result_t = std::conditional_t<std::is_same_v<R, scalar::compute_t<T>>, T, R>;

template <class F, typename T>
void reference_span(const void* x, void* y, std::int64_t n) {
  using C = scalar::compute_t<T>;
  using R = result_t<T, decltype(F::call(C()))>;
  const auto* const xs = static_cast<const T*>(x);
  auto* const ys = static_cast<R*>(y);
  for (std::int64_t i = 0; i < n; ++i) ys[i] = static_cast<R>(F::call(static_cast<C>(xs[i])));
}

template <class F, typename T, bool x_steps, bool y_steps>
void reference_binary(const void* x, const void* y, void* z, std::int64_t n) {
  using C = scalar::compute_t<T>;
  using R = result_t<T, decltype(F::call(C(), C()))>;
  const auto* const xs = static_cast<const T*>(x);
  const auto* const ys = static_cast<const T*>(y);
  auto* const zs = static_cast<R*>(z);
  if (n <= 0) return;
  const C x_one = static_cast<C>(xs[0]);
  const C y_one = static_cast<C>(ys[0]);
  for (std::int64_t i = 0; i < n; ++i) {
    zs[i] = static_cast<R>(F::call(x_steps ? static_cast<C>(xs[i]) : x_one, y_steps ? static_cast<C>(ys[i]) : y_one));
  }
}

template <class F, typename... Ts>
void add_unary(std::vector<UnaryRow>& rows, std::string_view name, TypeList<Ts...>, Work work = Work::kArithmetic) {
  (rows.push_back({name, dtype_of<Ts>(), reference_span<F, Ts>, work}), ...);
}

template <class F, typename... Ts>
void add_binary(std::vector<BinaryRow>& rows, std::string_view name, TypeList<Ts...>, Work work = Work::kArithmetic,
                Status (*check)(const Tensor&, const Tensor&) = nullptr) {
  (rows.push_back({name, dtype_of<Ts>(),
                   BinarySpans{reference_binary<F, Ts, true, true>, reference_binary<F, Ts, false, true>,
                               reference_binary<F, Ts, true, false>},
                   work, check}),
   ...);
}

using ComplexTypes = TypeList<std::complex<float>, std::complex<double>>;
using SignedTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;

}  // namespace argosy::elementwise
