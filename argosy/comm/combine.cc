#include "argosy/comm/combine.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/comm/combine.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, by Highway's rule.
#include <hwy/highway.h>

#include "argosy/comm/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {

// Elements per round: the accumulators of every level of a tree stay in the first-level cache.
constexpr std::size_t kTile = 256;
constexpr int kLevels = 31;  // of a tree over up to 2^31 inputs; only those in use are touched

template <typename T, Reduction kReduction>
void divide(Acc<T>* acc, std::size_t n, double divisor) {
  if constexpr (kReduction == Reduction::kMean) {
    // A count of ranks need not fit an 8-bit element.
    using By = std::conditional_t<std::is_floating_point_v<Acc<T>>, Acc<T>,
                                  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
    const By by = static_cast<By>(divisor);
    for (std::size_t i = 0; i < n; ++i) acc[i] = static_cast<Acc<T>>(static_cast<By>(acc[i]) / by);
  }
}

// to[i] = a[i] . b[i]
template <typename T, Reduction kReduction>
void combine_tiles(const Acc<T>* a, const Acc<T>* b, Acc<T>* to, std::size_t n) {
  const hn::ScalableTag<Acc<T>> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(combine<kReduction>(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  }
  for (; i < n; ++i) to[i] = meet_one<kReduction>(a[i], b[i]);
}

template <typename T>
void load_tile(const std::byte* from, std::size_t begin, Acc<T>* to, std::size_t n) {
  const hn::ScalableTag<Acc<T>> d;
  const std::size_t lanes = hn::Lanes(d);
  const T* p = reinterpret_cast<const T*>(from) + begin;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(load<T>(d, p + i), d, to + i);
  for (; i < n; ++i) to[i] = static_cast<Acc<T>>(p[i]);
}

template <typename T>
void store_tile(const CombineArrays& arrays, std::size_t begin, const Acc<T>* from, std::size_t n) {
  const hn::ScalableTag<Acc<T>> d;
  const std::size_t lanes = hn::Lanes(d);
  for (int k = 0; k < arrays.outputs; ++k) {
    T* p = reinterpret_cast<T*>(arrays.out[k]) + begin;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) store<T>(d, hn::LoadU(d, from + i), p + i);
    for (; i < n; ++i) p[i] = static_cast<T>(from[i]);
  }
}

// One level of accumulators for a power of two of inputs each, like a binary counter: input i carries into level 0, and
// on as long as levels are taken.
template <typename T, Reduction kReduction>
void combine_tree(const CombineArrays& arrays, std::size_t begin, std::size_t end) {
  alignas(64) Acc<T> levels[kLevels][kTile];
  alignas(64) Acc<T> carry[kTile];
  for (; begin < end; begin += kTile) {
    const std::size_t n = std::min(kTile, end - begin);
    for (unsigned i = 0; i < static_cast<unsigned>(arrays.inputs); ++i) {
      load_tile<T>(arrays.in[i], begin, carry, n);
      int level = 0;
      for (; (i >> level & 1u) != 0; ++level) combine_tiles<T, kReduction>(levels[level], carry, carry, n);
      std::copy_n(carry, n, levels[level]);
    }
    // What is left of a number that is no power of two, from the small to the large.
    const auto inputs = static_cast<unsigned>(arrays.inputs);
    int level = 0;
    while ((inputs >> level & 1u) == 0) ++level;
    std::copy_n(levels[level], n, carry);
    for (++level; inputs >> level != 0; ++level) {
      if ((inputs >> level & 1u) != 0) combine_tiles<T, kReduction>(levels[level], carry, carry, n);
    }
    divide<T, kReduction>(carry, n, arrays.divisor);
    store_tile<T>(arrays, begin, carry, n);
  }
}

// Lines are written while they are still in the first-level cache from being read: memory sees one pass.
template <typename T, Reduction kReduction>
void combine_chain(const CombineArrays& arrays, std::size_t begin, std::size_t end) {
  constexpr bool kInVectors = kReduction != Reduction::kMean || std::is_floating_point_v<Acc<T>>;
  const hn::ScalableTag<Acc<T>> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto at = [&](int k, std::size_t i) { return reinterpret_cast<const T*>(arrays.in[k]) + i; };
  const auto to = [&](int k, std::size_t i) { return reinterpret_cast<T*>(arrays.out[k]) + i; };
  if constexpr (kInVectors) {
    for (; begin + 4 * lanes <= end; begin += 4 * lanes) {
      auto a = load<T>(d, at(0, begin));
      auto b = load<T>(d, at(0, begin + lanes));
      auto c = load<T>(d, at(0, begin + 2 * lanes));
      auto e = load<T>(d, at(0, begin + 3 * lanes));
      for (int k = 1; k < arrays.inputs; ++k) {
        a = combine<kReduction>(d, a, load<T>(d, at(k, begin)));
        b = combine<kReduction>(d, b, load<T>(d, at(k, begin + lanes)));
        c = combine<kReduction>(d, c, load<T>(d, at(k, begin + 2 * lanes)));
        e = combine<kReduction>(d, e, load<T>(d, at(k, begin + 3 * lanes)));
      }
      if constexpr (kReduction == Reduction::kMean) {
        const auto by = hn::Set(d, static_cast<Acc<T>>(arrays.divisor));
        a = hn::Div(a, by);
        b = hn::Div(b, by);
        c = hn::Div(c, by);
        e = hn::Div(e, by);
      }
      for (int k = 0; k < arrays.outputs; ++k) {
        store<T>(d, a, to(k, begin));
        store<T>(d, b, to(k, begin + lanes));
        store<T>(d, c, to(k, begin + 2 * lanes));
        store<T>(d, e, to(k, begin + 3 * lanes));
      }
    }
  }
  for (; begin < end; ++begin) {
    auto acc = static_cast<Acc<T>>(*at(0, begin));
    for (int k = 1; k < arrays.inputs; ++k) acc = meet_one<kReduction>(acc, static_cast<Acc<T>>(*at(k, begin)));
    divide<T, kReduction>(&acc, 1, arrays.divisor);
    for (int k = 0; k < arrays.outputs; ++k) *to(k, begin) = static_cast<T>(acc);
  }
}

template <typename T>
CombineFn of_type(Reduction reduction, CombineOrder order) {
  const auto of = [&]<Reduction kReduction>() -> CombineFn {
    // Of whole numbers every order gives the same bits.
    if constexpr (!std::is_integral_v<T>) {
      if (order == CombineOrder::kTree) return combine_tree<T, kReduction>;
    }
    return combine_chain<T, kReduction>;
  };
  switch (reduction) {
    case Reduction::kSum: return of.template operator()<Reduction::kSum>();
    case Reduction::kMean: return of.template operator()<Reduction::kMean>();
    case Reduction::kMin: return of.template operator()<Reduction::kMin>();
    case Reduction::kMax: return of.template operator()<Reduction::kMax>();
    case Reduction::kProd: return of.template operator()<Reduction::kProd>();
  }
  return nullptr;
}

CombineFn find(DType dtype, Reduction reduction, CombineOrder order) {
  CombineFn fn = nullptr;
  const Status found = dispatch<RealTypes>(dtype, "collective", [&]<typename T>() {
    fn = of_type<T>(reduction, order);
    return ok_status();
  });
  return found.ok() ? fn : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(find);

std::string_view reduction_name(Reduction reduction) {
  constexpr std::string_view kNames[] = {"sum", "mean", "min", "max", "prod"};
  return kNames[static_cast<int>(reduction)];
}

Component component_of(DType dtype, Reduction reduction) {
  const bool linear = reduction == Reduction::kSum || reduction == Reduction::kMean;
  if (linear && dtype == DType::kComplex64) return {DType::kFloat32, 2};
  if (linear && dtype == DType::kComplex128) return {DType::kFloat64, 2};
  return {dtype, 1};
}

Result<CombineFn> find_combine(DType dtype, Reduction reduction, CombineOrder order) {
  const CombineFn fn = HWY_DYNAMIC_DISPATCH(find)(dtype, reduction, order);
  if (fn == nullptr) return unsupported_dtype(str_cat("collective ", reduction_name(reduction)), dtype);
  return fn;
}

}  // namespace argosy
#endif  // HWY_ONCE
