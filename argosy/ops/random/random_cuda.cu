// Random numbers from Philox streams, with TensorFlow's words and arithmetic (philox.h, fill_cpu.cc). One thread per
// group: the four numbers of a block, or two of 64 bits.
#include "argosy/device/cuda/kernels/kernel_source.h"

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

// Where numbers begin: a stream that the host knows, or one of a key and a counter that lie on the GPU.
struct Origin {
  Stream stream;
  const u64* key;  // null: `stream`
  const u64* counter;

  ARGOSY_DEVICE Stream begin() const {
    if (key == nullptr) return stream;
    const u64 k = key[0], low = counter[0], high = counter[1];
    return {{static_cast<u32>(k), static_cast<u32>(k >> 32)},
            {static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high), static_cast<u32>(high >> 32)}};
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
  // kCount neighbours: in one access where all of them are the run's and memory lies so.
  template <int kCount>
  ARGOSY_DEVICE void put_group(i64 element, const Vec<T, kCount>& values) const {
    T* const at = to + (element - first);
    if (element >= first && element + kCount <= first + n && are_vec_aligned<kCount>(at)) {
      store_vec<kCount>(at, 0, values);
      return;
    }
    ARGOSY_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (element + i >= first && element + i < first + n) at[i] = values.at[i];
    }
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
    Vec<T, kGroup> values;
    ARGOSY_UNROLL
    for (int i = 0; i < kGroup; ++i) values.at[i] = Number<T>::store(Words<T>::uniform(words, i));
    part.put_group(g * kGroup, values);
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
    Vec<T, kGroup> values;
    ARGOSY_UNROLL
    for (int i = 0; i < kGroup; i += 2) {
      Compute<T> pair[2];
      Words<T>::normal(words + i, pair);
      values.at[i] = Number<T>::store(pair[0]);
      values.at[i + 1] = Number<T>::store(pair[1]);
    }
    part.put_group(g * kGroup, values);
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
  ARGOSY_KERNEL(random_uniform_##T, Runs runs, T* to, Origin from) { uniform(runs, to, from.begin()); }        \
  ARGOSY_KERNEL(random_normal_##T, Runs runs, T* to, Origin from) { normal(runs, to, from.begin()); }          \
  ARGOSY_KERNEL(random_truncated_##T, Runs runs, T* to, Origin from) { truncated(runs, to, from.begin()); }    \
  ARGOSY_KERNEL(seeded_uniform_##T, Runs runs, T* to, const i64* seed) { uniform(runs, to, stream_of(seed)); } \
  ARGOSY_KERNEL(seeded_normal_##T, Runs runs, T* to, const i64* seed) { normal(runs, to, stream_of(seed)); }   \
  ARGOSY_KERNEL(seeded_truncated_##T, Runs runs, T* to, const i64* seed) { truncated(runs, to, stream_of(seed)); }
ARGOSY_RANDOM(f32)
ARGOSY_RANDOM(f64)
ARGOSY_RANDOM(f16)
ARGOSY_RANDOM(bf16)
#undef ARGOSY_RANDOM

// low + word mod range, or all words there are where range is 0; of 64 bits, out of two words.
template <typename U>
ARGOSY_DEVICE void integers(i64 n, U* to, U low, U range, const Stream& from) {
  constexpr int kWords = sizeof(U) / sizeof(u32), kGroup = 4 / kWords;
  for (i64 g = first_index(); g * kGroup < n; g += index_step()) {
    Stream at = from;
    at.skip(static_cast<u64>(g));
    u32 words[4];
    at.next(words);
    for (int i = 0; i < kGroup && g * kGroup + i < n; ++i) {
      U word = static_cast<U>(words[i * kWords]);
      if (kWords == 2) word |= static_cast<U>(static_cast<u64>(words[i * kWords + kWords - 1]) << 32);
      to[g * kGroup + i] = low + (range == 0 ? word : word % range);
    }
  }
}
ARGOSY_KERNEL(random_integers_u32, i64 n, u32* to, u32 low, u32 range, Origin from) {
  integers(n, to, low, range, from.begin());
}
ARGOSY_KERNEL(random_integers_u64, i64 n, u64* to, u64 low, u64 range, Origin from) {
  integers(n, to, low, range, from.begin());
}

// Class numbers drawn with probabilities softmax(logits), a block a row: `sums` [rows, classes] become the running sums
// of exp(logit - the greatest), which each sample looks its number up in. As many neighbours a thread, in order.
constexpr int kDrawThreads = 256;
template <typename T, typename Class>
ARGOSY_DEVICE void draw_classes(i64 rows, i64 classes, i64 samples, const T* logits, f64* sums, Class* to,
                                const Stream& from) {
  ARGOSY_SHARED f64 scratch[32];
  ARGOSY_SHARED f64 parts[kDrawThreads];
  const int me = threadIdx.x;
  const i64 each = (classes + kDrawThreads - 1) / kDrawThreads;
  const i64 first = me * each < classes ? me * each : classes, last = first + each < classes ? first + each : classes;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const x = logits + row * classes;
    f64* const sum = sums + row * classes;
    f64 most = -1.7976931348623157e308;
    for (i64 k = first; k < last; ++k) {
      const f64 v = static_cast<f64>(load(x, k));
      if (v - v == 0 && v > most) most = v;
    }
    most = block_reduce(most, scratch, [](f64 a, f64 b) { return a < b ? b : a; });
    // A class whose logit is infinite or NaN counts nothing.
    f64 mine = 0;
    for (i64 k = first; k < last; ++k) {
      const f64 v = static_cast<f64>(load(x, k));
      if (v - v == 0) mine += ::exp(v - most);
      sum[k] = mine;
    }
    __syncthreads();
    parts[me] = mine;
    __syncthreads();
    f64 before = 0, total = 0;
    for (int k = 0; k < kDrawThreads; ++k) {
      if (k < me) before += parts[k];
      total += parts[k];
    }
    for (i64 k = first; k < last; ++k) sum[k] += before;
    __syncthreads();
    for (i64 s = me; s < samples; s += kDrawThreads) {
      const i64 number = row * samples + s;  // each takes two words of the stream
      Stream at = from;
      at.skip(static_cast<u64>(number / 2));
      u32 words[4];
      at.next(words);
      const f64 wanted = unit_double(words[number % 2 * 2], words[number % 2 * 2 + 1]) * total;
      i64 low = 0, high = classes;
      while (low < high) {
        const i64 middle = (low + high) / 2;
        if (sum[middle] <= wanted) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      to[number] = static_cast<Class>(low);
    }
  }
}
#define ARGOSY_DRAW(T, Class)                                                                                          \
  ARGOSY_KERNEL(draw_classes_##T##_##Class, i64 rows, i64 classes, i64 samples, const T* logits, f64* sums, Class* to, \
                Origin from) {                                                                                         \
    draw_classes(rows, classes, samples, logits, sums, to, from.begin());                                              \
  }
ARGOSY_DRAW(f32, i32)
ARGOSY_DRAW(f32, i64)
ARGOSY_DRAW(f64, i32)
ARGOSY_DRAW(f64, i64)
ARGOSY_DRAW(f16, i32)
ARGOSY_DRAW(f16, i64)
ARGOSY_DRAW(bf16, i32)
ARGOSY_DRAW(bf16, i64)
#undef ARGOSY_DRAW

}  // namespace argosy::cuda
