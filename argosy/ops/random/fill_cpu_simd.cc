// Philox and the float distributions, a vector at a time.
#include "argosy/ops/random/fill.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/random/fill_cpu_simd.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
// Without vectors there is nothing to do here: the caller takes block after block.
std::int64_t blocks(const Philox&, std::int64_t, std::uint64_t, std::uint32_t*) { return 0; }
#else
// One block per 64-bit lane, its words in lanes of their own. A word's upper half is garbage until it is stored: the
// multiplications do not read it.
template <class D, class V>
HWY_INLINE void store_blocks(D d, const Philox::Key& key, V low, V c2, V c3, std::uint64_t* to) {
  const hn::Repartition<std::uint32_t, D> d32;
  const auto m0 = hn::Set(d32, Philox::kMultiplier0), m1 = hn::Set(d32, Philox::kMultiplier1);
  V c0 = low;
  V c1 = hn::ShiftRight<32>(low);
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < Philox::kRounds; ++round) {
    const V a = hn::MulEven(hn::BitCast(d32, c0), m0);
    const V b = hn::MulEven(hn::BitCast(d32, c2), m1);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, std::uint64_t{k0}));
    c1 = b;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, std::uint64_t{k1}));
    c3 = a;
    k0 += Philox::kWeyl0;
    k1 += Philox::kWeyl1;
  }
  const V word = hn::Set(d, std::uint64_t{0xffffffff});
  hn::StoreInterleaved2(hn::Or(hn::And(c0, word), hn::ShiftLeft<32>(c1)),
                        hn::Or(hn::And(c2, word), hn::ShiftLeft<32>(c3)), d, to);
}

std::int64_t blocks(const Philox& from, std::int64_t n, std::uint64_t step, std::uint32_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN std::uint64_t first[hn::MaxLanes(d)];
  for (std::int64_t i = 0; i < lanes; ++i) first[i] = from.low() + static_cast<std::uint64_t>(i) * step;
  auto low = hn::Load(d, first);
  const auto next = hn::Set(d, static_cast<std::uint64_t>(lanes) * step);
  const auto c2 = hn::Set(d, std::uint64_t{from.counter()[2]}), c3 = hn::Set(d, std::uint64_t{from.counter()[3]});
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    store_blocks(d, from.key(), low, c2, c3, reinterpret_cast<std::uint64_t*>(words + 4 * i));
    low = hn::Add(low, next);
  }
  return i;
}
#endif

using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Floats>;

// 23 random bits as the mantissa of a number in [1, 2), less 1.
template <class V>
HWY_INLINE auto uniform(V words) {
  const auto bits = hn::Or(hn::And(words, hn::Set(Words(), 0x7fffffu)), hn::Set(Words(), 0x3f800000u));
  return hn::Sub(hn::BitCast(Floats(), bits), hn::Set(Floats(), 1.0f));
}

void uniform_floats(const std::uint32_t* words, std::int64_t n, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(uniform(hn::LoadU(Words(), words + i)), Floats(), to + i);
  const hn::FixedTag<std::uint32_t, 1> w1;
  const hn::FixedTag<float, 1> f1;
  for (; i < n; ++i) {
    const auto bits = hn::Or(hn::And(hn::LoadU(w1, words + i), hn::Set(w1, 0x7fffffu)), hn::Set(w1, 0x3f800000u));
    hn::StoreU(hn::Sub(hn::BitCast(f1, bits), hn::Set(f1, 1.0f)), f1, to + i);
  }
}

// Box-Muller over pairs of words. 2 pi u is rounded once, as the double product of the scalar form is.
template <class Df, class Dw>
HWY_INLINE void normal_pairs(Df f, Dw w, const std::uint32_t* words, float* to) {
  hn::Vec<Dw> w0, w1;
  hn::LoadInterleaved2(w, words, w0, w1);
  const auto unit = [&](hn::Vec<Dw> x) {
    return hn::Sub(hn::BitCast(f, hn::Or(hn::And(x, hn::Set(w, 0x7fffffu)), hn::Set(w, 0x3f800000u))),
                   hn::Set(f, 1.0f));
  };
  const auto u = hn::Max(unit(w0), hn::Set(f, 1.0e-7f));
  const auto turn = unit(w1);
  const auto angle = hn::MulAdd(turn, hn::Set(f, 6.2831855f), hn::Mul(turn, hn::Set(f, -1.7484555e-7f)));
  const auto radius = hn::Sqrt(hn::Mul(hn::Set(f, -2.0f), hn::Log(f, u)));
  hn::StoreInterleaved2(hn::Mul(hn::Sin(f, angle), radius), hn::Mul(hn::Cos(f, angle), radius), f, to);
}

void normal_floats(const std::uint32_t* words, std::int64_t n, float* to) {
  const auto step = 2 * static_cast<std::int64_t>(hn::Lanes(Floats()));
  std::int64_t i = 0;
  for (; i + step <= n; i += step) normal_pairs(Floats(), Words(), words + i, to + i);
  if (i == n) return;
  // The rest through a whole vector: each number is the same wherever it stands.
  HWY_ALIGN std::uint32_t last[2 * hn::MaxLanes(Words())] = {};
  HWY_ALIGN float out[2 * hn::MaxLanes(Floats())];
  for (std::int64_t k = i; k < n; ++k) last[k - i] = words[k];
  normal_pairs(Floats(), Words(), last, out);
  for (std::int64_t k = i; k < n; ++k) to[k] = out[k - i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(blocks);
HWY_EXPORT(uniform_floats);
HWY_EXPORT(normal_floats);

void philox_blocks(const Philox& from, std::int64_t blocks, std::uint64_t step, std::uint32_t* words) {
  std::int64_t done = 0;
  // Vectors count in 64 bits; where the lower half would wrap, blocks go one by one.
  std::uint64_t way = 0, end = 0;
  if (!__builtin_mul_overflow(static_cast<std::uint64_t>(blocks), step, &way) &&
      !__builtin_add_overflow(from.low(), way, &end)) {
    done = HWY_DYNAMIC_DISPATCH(blocks)(from, blocks, step, words);
  }
  Philox one = from;
  one.skip(static_cast<std::uint64_t>(done) * step);
  for (; done < blocks; ++done) {
    Philox at = one;
    const Philox::Block block = at();
    std::copy(block.begin(), block.end(), words + 4 * done);
    one.skip(step);
  }
}

namespace internal {
void uniform_floats(const std::uint32_t* words, std::int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(uniform_floats)(words, n, to);
}
void normal_floats(const std::uint32_t* words, std::int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(normal_floats)(words, n, to);
}
}  // namespace internal

}  // namespace argosy
#endif
