#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/reduction/reduction_loops_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "argosy/ops/elementwise/functions/functors_bits.h"
#include "argosy/ops/elementwise/functions/spans.inc"
#include "argosy/ops/reduction/reduction_loops.h"

HWY_BEFORE_NAMESPACE();
namespace argosy::reduction {
namespace HWY_NAMESPACE {
namespace {

template <class Join, bool squares>
struct Folding {
  template <typename T>
  static HWY_INLINE T first(T x) {
    return squares ? scalar::Square::call(x) : x;
  }
  template <typename T>
  static HWY_INLINE T join(T x, T y) {
    return Join::call(x, y);
  }
};

// `bytes`: of the sums that run side by side.
template <class F, typename T, std::int64_t bytes>
T fold_row(const T* HWY_RESTRICT x, std::int64_t n) {
  constexpr auto kMany = static_cast<std::int64_t>(bytes / sizeof(T));
  HWY_ALIGN T sums[kMany];
  for (std::int64_t j = 0; j < kMany; ++j) sums[j] = F::first(x[j]);
  std::int64_t i = kMany;
  for (; i + kMany <= n; i += kMany) {
    ARGOSY_VECTORIZE
    for (std::int64_t j = 0; j < kMany; ++j) sums[j] = F::join(sums[j], F::first(x[i + j]));
  }
  for (std::int64_t j = 0; i + j < n; ++j) sums[j] = F::join(sums[j], F::first(x[i + j]));
  for (std::int64_t half = kMany / 2; half > 0; half /= 2) {
    ARGOSY_VECTORIZE
    for (std::int64_t j = 0; j < half; ++j) sums[j] = F::join(sums[j], sums[j + half]);
  }
  return sums[0];
}

template <class F, typename T>
T fold_row(const T* HWY_RESTRICT x, std::int64_t n) {
  constexpr std::int64_t kWide = 512;
  constexpr std::int64_t kNarrow = 64;
  if (n >= static_cast<std::int64_t>(2 * kWide / sizeof(T))) return fold_row<F, T, kWide>(x, n);
  if (n >= static_cast<std::int64_t>(kNarrow / sizeof(T))) return fold_row<F, T, kNarrow>(x, n);
  T result = F::first(x[0]);
  for (std::int64_t i = 1; i < n; ++i) result = F::join(result, F::first(x[i]));
  return result;
}

template <class F, typename T>
void fold_rows(const void* x, std::int64_t rows, std::int64_t n, void* out) {
  const T* from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(out);
  for (std::int64_t r = 0; r < rows; ++r, from += n) to[r] = fold_row<F, T>(from, n);
}

template <class F, typename T>
void fold_columns(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* out) {
  constexpr std::int64_t kAtOnce = static_cast<std::int64_t>(4096 / sizeof(T));
  T* const to = static_cast<T*>(out);
  for (std::int64_t c = 0; c < columns; c += kAtOnce) {
    const std::int64_t n = std::min(kAtOnce, columns - c);
    const T* HWY_RESTRICT x0 = static_cast<const T*>(x) + c;
    HWY_ALIGN T sums[kAtOnce];
    ARGOSY_VECTORIZE
    for (std::int64_t j = 0; j < n; ++j) sums[j] = F::first(x0[j]);
    std::int64_t r = 1;
    for (; r + 4 <= rows; r += 4) {
      x0 = static_cast<const T*>(x) + c + r * stride;
      const T* HWY_RESTRICT x1 = x0 + stride;
      const T* HWY_RESTRICT x2 = x1 + stride;
      const T* HWY_RESTRICT x3 = x2 + stride;
      ARGOSY_VECTORIZE
      for (std::int64_t j = 0; j < n; ++j) {
        const T four = F::join(F::join(F::first(x0[j]), F::first(x1[j])), F::join(F::first(x2[j]), F::first(x3[j])));
        sums[j] = F::join(sums[j], four);
      }
    }
    for (; r < rows; ++r) {
      x0 = static_cast<const T*>(x) + c + r * stride;
      ARGOSY_VECTORIZE
      for (std::int64_t j = 0; j < n; ++j) sums[j] = F::join(sums[j], F::first(x0[j]));
    }
    std::copy_n(sums, n, to + c);
  }
}

template <class Join, bool squares = false>
Loops numbers(DType dtype) {
  using F = Folding<Join, squares>;
  switch (dtype) {
    case DType::kFloat32: return {fold_rows<F, float>, fold_columns<F, float>};
    case DType::kFloat64: return {fold_rows<F, double>, fold_columns<F, double>};
    case DType::kInt32: return {fold_rows<F, std::int32_t>, fold_columns<F, std::int32_t>};
    case DType::kInt64: return {fold_rows<F, std::int64_t>, fold_columns<F, std::int64_t>};
    default: return {};
  }
}

template <class Join>
Loops bools(DType dtype) {
  using F = Folding<Join, false>;
  if (dtype != DType::kBool) return {};
  return {fold_rows<F, std::uint8_t>, fold_columns<F, std::uint8_t>};
}

}  // namespace

Loops find_loops_here(Fold fold, DType dtype) {
  switch (fold) {
    case Fold::kSum: return numbers<scalar::Add>(dtype);
    case Fold::kSumOfSquares: return numbers<scalar::Add, true>(dtype);
    case Fold::kProduct: return numbers<scalar::Mul>(dtype);
    case Fold::kMaximum: return numbers<scalar::Maximum>(dtype);
    case Fold::kMinimum: return numbers<scalar::Minimum>(dtype);
    case Fold::kAnd: return bools<scalar::BitwiseAnd>(dtype);
    case Fold::kOr: return bools<scalar::BitwiseOr>(dtype);
  }
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::reduction
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::reduction {
HWY_EXPORT(find_loops_here);
Loops find_loops(Fold fold, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_loops_here)(fold, dtype); }
}  // namespace argosy::reduction
#endif
