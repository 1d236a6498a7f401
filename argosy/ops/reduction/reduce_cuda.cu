// Reductions: x[outer][count][inner] folded over the middle axis. A long fold is cut into `chunks`; a second launch
// folds their partial results, of which each output has `chunks` neighbouring ones. So the order of additions depends
// on shapes alone, and there are no atomic additions.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/elementwise/gpu/functions_complex_cuda.h"

namespace argosy::cuda {

// What long folds of In are kept in: partial results have this type.
struct SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return A{};
  }
  template <typename A>
  static ARGOSY_DEVICE A enter(A x) {
    return x;
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return static_cast<A>(a + b);
  }
};
struct SumsqFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A enter(A x) {
    return static_cast<A>(x * x);
  }
};
struct ProdFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return A(1);
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return static_cast<A>(a * b);
  }
};
// Of complex numbers.
struct ComplexProdFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return {1, 0};
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return complex_fn::Mul::call(a, b);
  }
};
template <typename A>
struct Extremes;
#define ARGOSY_EXTREMES(A, low, high)                 \
  template <>                                         \
  struct Extremes<A> {                                \
    static ARGOSY_DEVICE A lowest() { return low; }   \
    static ARGOSY_DEVICE A highest() { return high; } \
  };
ARGOSY_EXTREMES(f32, -float_of_bits(0x7f800000u), float_of_bits(0x7f800000u))
ARGOSY_EXTREMES(f64, -static_cast<f64>(float_of_bits(0x7f800000u)), static_cast<f64>(float_of_bits(0x7f800000u)))
ARGOSY_EXTREMES(i64, -9223372036854775807LL - 1, 9223372036854775807LL)
#undef ARGOSY_EXTREMES
struct MaxFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return Extremes<A>::lowest();
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a < b || b != b ? b : a;
  }
};
struct MinFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return Extremes<A>::highest();
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return b < a || b != b ? b : a;
  }
};
struct AllFold : SumFold {
  template <typename A>
  static ARGOSY_DEVICE A start() {
    return A(1);
  }
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a && b;
  }
};
struct AnyFold : SumFold {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a || b;
  }
};

// What becomes of a fold in the end.
struct Finish {
  i64 divide_by;  // negative: no division
  int root;
};
template <typename A>
ARGOSY_DEVICE A finished(A value, const Finish&) {
  return value;
}
ARGOSY_DEVICE f32 finished(f32 value, const Finish& finish) {
  if (finish.divide_by >= 0) value /= static_cast<f32>(finish.divide_by);
  return finish.root ? ::sqrt(value) : value;
}
ARGOSY_DEVICE f64 finished(f64 value, const Finish& finish) {
  if (finish.divide_by >= 0) value /= static_cast<f64>(finish.divide_by);
  return finish.root ? ::sqrt(value) : value;
}

// Of no complex numbers the mean is 0, as on the CPU.
template <typename C>
ARGOSY_DEVICE C divided(C value, const Finish& finish) {
  if (finish.divide_by <= 0) return value;
  const auto by = static_cast<typename PartOf<C>::Type>(finish.divide_by);
  return {value.re / by, value.im / by};
}
ARGOSY_DEVICE c64 finished(c64 value, const Finish& finish) { return divided(value, finish); }
ARGOSY_DEVICE c128 finished(c128 value, const Finish& finish) { return divided(value, finish); }

// A block per output and chunk, its threads side by side along `count`. REQUIRES: inner == 1.
template <typename Fold, typename In, typename Out>
ARGOSY_DEVICE void reduce_rows(i64 outer, i64 count, int chunks, const In* x, Out* out, const Finish& finish) {
  using A = Compute<In>;
  ARGOSY_SHARED A scratch[32];
  const i64 chunk_size = (count + chunks - 1) / chunks;
  for (i64 at = blockIdx.x; at < outer * chunks; at += gridDim.x) {
    const i64 row = at / chunks, begin = at % chunks * chunk_size;
    const i64 end = begin + chunk_size < count ? begin + chunk_size : count;
    A sum = Fold::template start<A>();
    for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x)
      sum = Fold{}(sum, Fold::enter(load(x, row * count + i)));
    sum = block_reduce(sum, scratch, Fold{});
    if (threadIdx.x == 0) store(out, at, finished(sum, finish));
  }
}

// A thread per output and chunk: neighbours read neighbours. Partial results lie as [outer][chunks][inner].
template <typename Fold, typename In, typename Out>
ARGOSY_DEVICE void reduce_columns(i64 outer, i64 count, i64 inner, int chunks, const In* x, Out* out,
                                  const Finish& finish) {
  using A = Compute<In>;
  const i64 chunk_size = (count + chunks - 1) / chunks;
  for (i64 at = first_index(); at < outer * chunks * inner; at += index_step()) {
    const i64 i = at % inner, chunk = at / inner % chunks, o = at / inner / chunks;
    const i64 begin = chunk * chunk_size, end = begin + chunk_size < count ? begin + chunk_size : count;
    A sum = Fold::template start<A>();
    for (i64 r = begin; r < end; ++r) sum = Fold{}(sum, Fold::enter(load(x, (o * count + r) * inner + i)));
    store(out, at, finished(sum, finish));
  }
}

#define ARGOSY_FOLD(name, Fold, In, Out)                                                                        \
  ARGOSY_KERNEL(reduce_rows_##name##_##In##_##Out, i64 outer, i64 count, int chunks, const In* x, Out* out,     \
                Finish finish) {                                                                                \
    reduce_rows<Fold>(outer, count, chunks, x, out, finish);                                                    \
  }                                                                                                             \
  ARGOSY_KERNEL(reduce_columns_##name##_##In##_##Out, i64 outer, i64 count, i64 inner, int chunks, const In* x, \
                Out* out, Finish finish) {                                                                      \
    reduce_columns<Fold>(outer, count, inner, chunks, x, out, finish);                                          \
  }
// clang-format breaks such a list elsewhere at every pass.
// clang-format off
#define ARGOSY_FOLD_FLOATS(name, Fold)                                                                         \
  ARGOSY_FOLD(name, Fold, f32, f32)                                                                            \
  ARGOSY_FOLD(name, Fold, f64, f64) ARGOSY_FOLD(name, Fold, f16, f16) ARGOSY_FOLD(name, Fold, f16, f32)        \
      ARGOSY_FOLD(name, Fold, f32, f16) ARGOSY_FOLD(name, Fold, bf16, bf16) ARGOSY_FOLD(name, Fold, bf16, f32) \
          ARGOSY_FOLD(name, Fold, f32, bf16)
// clang-format on
#define ARGOSY_FOLD_NUMBERS(name, Fold) ARGOSY_FOLD_FLOATS(name, Fold) ARGOSY_FOLD(name, Fold, i64, i64)
ARGOSY_FOLD_NUMBERS(sum, SumFold)
// Partial results of these are added up.
ARGOSY_FOLD(sumsq, SumsqFold, f32, f32)
ARGOSY_FOLD(sumsq, SumsqFold, f64, f64)
ARGOSY_FOLD(sumsq, SumsqFold, f16, f16)
ARGOSY_FOLD(sumsq, SumsqFold, f16, f32)
ARGOSY_FOLD(sumsq, SumsqFold, bf16, bf16)
ARGOSY_FOLD(sumsq, SumsqFold, bf16, f32)
ARGOSY_FOLD_NUMBERS(prod, ProdFold)
ARGOSY_FOLD(sum, SumFold, c64, c64)
ARGOSY_FOLD(sum, SumFold, c128, c128)
ARGOSY_FOLD(prod, ComplexProdFold, c64, c64)
ARGOSY_FOLD(prod, ComplexProdFold, c128, c128)
ARGOSY_FOLD_NUMBERS(max, MaxFold)
ARGOSY_FOLD_NUMBERS(min, MinFold)
ARGOSY_FOLD(all, AllFold, bool, bool)
ARGOSY_FOLD(any, AnyFold, bool, bool)

// --- arg-max and arg-min: the first of equals; NaN is never chosen while there is a number.

template <bool kLargest, typename A>
ARGOSY_DEVICE bool beats(A x, i64 at, A best, i64 best_at) {
  if (best_at < 0) return true;
  if (at < 0) return false;
  if (kLargest ? x > best : x < best) return true;
  if (best != best && x == x) return true;
  return (x == best || (x != x && best != best)) && at < best_at;
}

// One block an output: kThreads threads side by side along `count`.
template <bool kLargest, typename T, typename P>
ARGOSY_DEVICE void arg_extreme(i64 outer, i64 count, i64 inner, const T* x, P* out) {
  using A = Compute<T>;
  constexpr int kThreads = 128;
  ARGOSY_SHARED A values[kThreads];
  ARGOSY_SHARED i64 places[kThreads];
  const int me = threadIdx.x;
  for (i64 at = blockIdx.x; at < outer * inner; at += gridDim.x) {
    const i64 base = at / inner * count * inner + at % inner;
    A best = A(0);
    i64 where = -1;
    for (i64 r = me; r < count; r += kThreads) {
      const A v = load(x, base + r * inner);
      if (beats<kLargest>(v, r, best, where)) best = v, where = r;
    }
    __syncthreads();
    values[me] = best;
    places[me] = where;
    for (int step = kThreads / 2; step > 0; step /= 2) {
      __syncthreads();
      if (me < step && beats<kLargest>(values[me + step], places[me + step], values[me], places[me])) {
        values[me] = values[me + step];
        places[me] = places[me + step];
      }
    }
    if (me == 0) out[at] = static_cast<P>(places[0]);
  }
}

#define ARGOSY_ARG(T, P)                                                                  \
  ARGOSY_KERNEL(arg_max_##T##_##P, i64 outer, i64 count, i64 inner, const T* x, P* out) { \
    arg_extreme<true>(outer, count, inner, x, out);                                       \
  }                                                                                       \
  ARGOSY_KERNEL(arg_min_##T##_##P, i64 outer, i64 count, i64 inner, const T* x, P* out) { \
    arg_extreme<false>(outer, count, inner, x, out);                                      \
  }
// clang-format breaks such a list elsewhere at every pass.
// clang-format off
ARGOSY_ARG(f32, i64)
ARGOSY_ARG(f32, i32) ARGOSY_ARG(f64, i64) ARGOSY_ARG(f64, i32) ARGOSY_ARG(f16, i64) ARGOSY_ARG(f16, i32)
    ARGOSY_ARG(bf16, i64) ARGOSY_ARG(bf16, i32) ARGOSY_ARG(i64, i64) ARGOSY_ARG(i64, i32) ARGOSY_ARG(bool, i64) ARGOSY_ARG(bool, i32)
// clang-format on

}  // namespace argosy::cuda
