// Random numbers out of Philox streams: TensorFlow's words and arithmetic (philox.h, fill_cpu.cc). A thread a group:
// four numbers of a block, two of 64 bits.
#include "argosy/device/cuda/kernel_source.h"

namespace argosy::cuda {

struct Stream {
  u32 key[2];
  u32 counter[4];

  ARGOSY_DEVICE void skip(u64 blocks) {
    const u64 before = counter[0] | (static_cast<u64>(counter[1]) << 32), now = before + blocks;
    counter[0] = static_cast<u32>(now);
    counter[1] = static_cast<u32>(now >> 32);
    if (now < before && ++counter[2] == 0) ++counter[3];
  }
  ARGOSY_DEVICE void next(u32* words) {
    u32 k0 = key[0], k1 = key[1], c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; ++round) {
      const u64 a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
      c0 = static_cast<u32>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<u32>(b);
      c2 = static_cast<u32>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<u32>(a);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
    skip(1);
  }
};

// What a seed of two integers stands for: seeded_stream() of stateless_cpu.cc.
ARGOSY_DEVICE Stream stream_of(const i64* seed) {
  const u64 first = static_cast<u64>(seed[0]), second = static_cast<u64>(seed[1]);
  Stream scrambler = {{0x3ec8f720u, 0x02461e29u},
                      {static_cast<u32>(first), static_cast<u32>(first >> 32), static_cast<u32>(second),
                       static_cast<u32>(second >> 32)}};
  u32 mixed[4];
  scrambler.next(mixed);
  return {{mixed[0], mixed[1]}, {0, 0, mixed[2], mixed[3]}};
}

ARGOSY_DEVICE f32 unit_float(u32 x) { return float_of_bits(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }
ARGOSY_DEVICE f64 unit_double(u32 x0, u32 x1) {
  // 52 bits behind the point: exact.
  return static_cast<f64>((static_cast<u64>(x0 & 0xfffffu) << 32) | x1) * (1.0 / 4503599627370496.0);
}
constexpr f64 kTwoPi = 6.283185307179586476925286766559;
ARGOSY_DEVICE void box_muller(u32 x0, u32 x1, f32* pair) {
  const f32 v = unit_float(x0), u = v < 1.0e-7f ? 1.0e-7f : v;
  const f32 angle = static_cast<f32>(kTwoPi * static_cast<f64>(unit_float(x1)));
  const f32 radius = ::sqrt(-2.0f * ::log(u));
  pair[0] = ::sin(angle) * radius;
  pair[1] = ::cos(angle) * radius;
}
ARGOSY_DEVICE void box_muller(u32 x0, u32 x1, u32 x2, u32 x3, f64* pair) {
  const f64 v = unit_double(x0, x1), u = v < 1.0e-7 ? 1.0e-7 : v;
  const f64 angle = kTwoPi * unit_double(x2, x3);
  const f64 radius = ::sqrt(-2.0 * ::log(u));
  pair[0] = ::sin(angle) * radius;
  pair[1] = ::cos(angle) * radius;
}

// How T takes its numbers from words: kGroup numbers a block, pairs of normal ones from kWords words each.
template <typename T>
struct Words {
  static constexpr int kGroup = 4, kWords = 2;
  static ARGOSY_DEVICE f32 uniform(const u32* x, int i) { return unit_float(x[i]); }
  static ARGOSY_DEVICE void normal(const u32* x, f32* pair) { box_muller(x[0], x[1], pair); }
};
template <>
struct Words<f64> {
  static constexpr int kGroup = 2, kWords = 4;
  static ARGOSY_DEVICE f64 uniform(const u32* x, int i) { return unit_double(x[2 * i], x[2 * i + 1]); }
  static ARGOSY_DEVICE void normal(const u32* x, f64* pair) { box_muller(x[0], x[1], x[2], x[3], pair); }
};
// Uniform ones of 16 bits have the bits of their own mantissa only.
template <>
struct Words<f16> : Words<f32> {
  static ARGOSY_DEVICE f32 uniform(const u32* x, int i) {
    return widen(f16{static_cast<u16>((15u << 10) | (x[i] & 0x3ffu))}) - 1.0f;
  }
};
template <>
struct Words<bf16> : Words<f32> {
  static ARGOSY_DEVICE f32 uniform(const u32* x, int i) {
    return widen(bf16{static_cast<u16>((127u << 7) | (x[i] & 0x7fu))}) - 1.0f;
  }
};

// Elements [first, first + n) of what the stream gives.
template <typename T>
struct Part {
  i64 first, n;
  T* to;

  ARGOSY_DEVICE bool reaches(i64 element) const { return element < first + n; }
  template <typename V>
  ARGOSY_DEVICE void put(i64 element, V value) const {
    if (element >= first && element < first + n) store(to, element - first, value);
  }
};

// Runs of n elements each, one behind the other in memory; in the stream `step` further on from one to the next.
struct Runs {
  i64 first, n, count, step;

  // Of so many elements: every group of a run has a number, and some have none of its elements.
  ARGOSY_DEVICE i64 groups(int elements) const { return n / elements + 2; }
  template <typename T>
  ARGOSY_DEVICE Part<T> part(i64 run, T* to) const {
    return {first + run * step, n, to + run * n};
  }
};

// A thread's groups of all runs, one after the other.
template <typename T>
struct Groups {
  static constexpr int kGroup = Words<T>::kGroup;
  const Runs& runs;
  T* to;
  i64 i = first_index();
  Part<T> part{};
  i64 group = 0;

  // The next one that has elements of its run.
  ARGOSY_DEVICE bool next() {
    for (const i64 each = runs.groups(kGroup); i < runs.count * each;) {
      part = runs.part(i / each, to);
      group = part.first / kGroup + i % each;
      i += index_step();
      if (part.reaches(group * kGroup)) return true;
    }
    return false;
  }
};

template <typename T>
ARGOSY_DEVICE void uniform(const Runs& runs, T* to, const Stream& from) {
  constexpr int kGroup = Words<T>::kGroup;
  for (Groups<T> at_group{runs, to}; at_group.next();) {
    const Part<T>& part = at_group.part;
    const i64 g = at_group.group;
    Stream at = from;
    at.skip(static_cast<u64>(g));
    u32 words[4];
    at.next(words);
    for (int i = 0; i < kGroup; ++i) part.put(g * kGroup + i, Words<T>::uniform(words, i));
  }
}
template <typename T>
ARGOSY_DEVICE void normal(const Runs& runs, T* to, const Stream& from) {
  constexpr int kGroup = Words<T>::kGroup;
  for (Groups<T> at_group{runs, to}; at_group.next();) {
    const Part<T>& part = at_group.part;
    const i64 g = at_group.group;
    Stream at = from;
    at.skip(static_cast<u64>(g));
    u32 words[4];
    at.next(words);
    for (int i = 0; i < kGroup; i += 2) {
      Compute<T> pair[2];
      Words<T>::normal(words + i, pair);
      for (int k = 0; k < 2; ++k) part.put(g * kGroup + i + k, pair[k]);
    }
  }
}
// Drawn again until below 2 in size; group g has stream blocks 64 kGroup g on.
template <typename T>
ARGOSY_DEVICE void truncated(const Runs& runs, T* to, const Stream& from) {
  constexpr int kGroup = Words<T>::kGroup, kWords = Words<T>::kWords;
  for (Groups<T> at_group{runs, to}; at_group.next();) {
    const Part<T>& part = at_group.part;
    const i64 g = at_group.group;
    Stream at = from;
    at.skip(static_cast<u64>(g) * 64 * kGroup);
    int have = 0;
    while (have < kGroup) {
      u32 words[4];
      at.next(words);
      for (int w = 0; w < 4; w += kWords) {
        Compute<T> pair[2];
        Words<T>::normal(words + w, pair);
        for (int k = 0; k < 2; ++k) {
          if (have >= kGroup || !(pair[k] < Compute<T>(2) && pair[k] > Compute<T>(-2))) continue;
          part.put(g * kGroup + have, pair[k]);
          ++have;
        }
      }
    }
  }
}

#define ARGOSY_RANDOM(T)                                                                                       \
  ARGOSY_KERNEL(random_uniform_##T, Runs runs, T* to, Stream from) { uniform(runs, to, from); }                \
  ARGOSY_KERNEL(random_normal_##T, Runs runs, T* to, Stream from) { normal(runs, to, from); }                  \
  ARGOSY_KERNEL(random_truncated_##T, Runs runs, T* to, Stream from) { truncated(runs, to, from); }            \
  ARGOSY_KERNEL(seeded_uniform_##T, Runs runs, T* to, const i64* seed) { uniform(runs, to, stream_of(seed)); } \
  ARGOSY_KERNEL(seeded_normal_##T, Runs runs, T* to, const i64* seed) { normal(runs, to, stream_of(seed)); }   \
  ARGOSY_KERNEL(seeded_truncated_##T, Runs runs, T* to, const i64* seed) { truncated(runs, to, stream_of(seed)); }
ARGOSY_RANDOM(f32)
ARGOSY_RANDOM(f64)
ARGOSY_RANDOM(f16)
ARGOSY_RANDOM(bf16)

}  // namespace argosy::cuda
