#include "argosy/ops/random/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "argosy/base/threads/parallel.h"

namespace argosy {

namespace {

constexpr std::int64_t kChunk = 256;       // blocks at a time: four kilobytes of words
constexpr std::int64_t kGrain = 4 * 1024;  // blocks worth a thread

float unit_float(std::uint32_t x) { return std::bit_cast<float>(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }
double unit_double(std::uint32_t x0, std::uint32_t x1) {
  const std::uint64_t mantissa = (std::uint64_t{x0 & 0xfffffu} << 32) | x1;
  return std::bit_cast<double>((std::uint64_t{1023} << 52) | mantissa) - 1.0;
}

template <typename T>
struct Pair {
  T first, second;
};

Pair<float> box_muller(std::uint32_t x0, std::uint32_t x1) {
  const float u = std::max(unit_float(x0), 1.0e-7f);
  const auto angle = static_cast<float>(2.0 * std::numbers::pi * static_cast<double>(unit_float(x1)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
Pair<double> box_muller(std::uint32_t x0, std::uint32_t x1, std::uint32_t x2, std::uint32_t x3) {
  const double u = std::max(unit_double(x0, x1), 1.0e-7);
  const double angle = 2.0 * std::numbers::pi * unit_double(x2, x3);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// The words of one block as numbers. Wide is what is computed in: float for the 16-bit types too, but for uniform
// ones, whose few bits are taken from the words directly.
struct UniformWords {
  template <typename T>
  static void numbers(const std::uint32_t* x, T* to) {
    if constexpr (std::is_same_v<T, double>) {
      to[0] = unit_double(x[0], x[1]);
      to[1] = unit_double(x[2], x[3]);
    } else if constexpr (std::is_same_v<T, float>) {
      for (int i = 0; i < 4; ++i) to[i] = unit_float(x[i]);
    } else if constexpr (std::is_same_v<T, float16>) {
      for (int i = 0; i < 4; ++i) {
        to[i] = float16(
            static_cast<float>(std::bit_cast<float16>(static_cast<std::uint16_t>((15u << 10) | (x[i] & 0x3ffu)))) -
            1.0f);
      }
    } else {
      for (int i = 0; i < 4; ++i) {
        to[i] = bfloat16(
            static_cast<float>(std::bit_cast<bfloat16>(static_cast<std::uint16_t>((127u << 7) | (x[i] & 0x7fu)))) -
            1.0f);
      }
    }
  }
};
struct NormalWords {
  template <typename T>
  static void numbers(const std::uint32_t* x, T* to) {
    if constexpr (std::is_same_v<T, double>) {
      const auto [a, b] = box_muller(x[0], x[1], x[2], x[3]);
      to[0] = a;
      to[1] = b;
    } else {
      for (int i = 0; i < 4; i += 2) {
        const auto [a, b] = box_muller(x[i], x[i + 1]);
        to[i] = T(a);
        to[i + 1] = T(b);
      }
    }
  }
};

template <typename T>
inline constexpr std::int64_t kGroup = sizeof(T) == 8 ? 2 : 4;  // numbers out of one block

// A group of truncated normals from the words of a stream of its own.
template <typename T>
void truncated_group(const Philox& from, T* to) {
  PhiloxWords words(from);
  constexpr auto kLimit = 2.0f;
  std::int64_t n = 0;
  const auto take = [&](auto value) {
    if (n < kGroup<T> && std::abs(value) < kLimit) to[n++] = T(value);
  };
  while (n < kGroup<T>) {
    const std::uint32_t x0 = words(), x1 = words();
    if constexpr (std::is_same_v<T, double>) {
      const std::uint32_t x2 = words(), x3 = words();
      const auto [a, b] = box_muller(x0, x1, x2, x3);
      take(a);
      take(b);
    } else {
      const auto [a, b] = box_muller(x0, x1);
      take(a);
      take(b);
    }
  }
}

// Groups [begin, end) of an op's numbers, into `to` which holds them whole.
template <typename T>
struct Plain {
  Distribution distribution;
  Philox from;
  void operator()(std::int64_t begin, std::int64_t end, T* to) const {
    for (std::int64_t g = begin; g < end; ++g, to += kGroup<T>) {
      Philox at = from;
      if (distribution == Distribution::kTruncatedNormal) {
        at.skip(static_cast<std::uint64_t>(g) * 64 * kGroup<T>);
        truncated_group(at, to);
        continue;
      }
      at.skip(static_cast<std::uint64_t>(g));
      const Philox::Block words = at();
      if (distribution == Distribution::kUniform) {
        UniformWords::numbers(words.data(), to);
      } else {
        NormalWords::numbers(words.data(), to);
      }
    }
  }
};

// The same for float, vectors of blocks at a time.
struct Vectors {
  Distribution distribution;
  Philox from;
  void operator()(std::int64_t begin, std::int64_t end, float* to) const {
    alignas(64) std::uint32_t words[4 * kChunk];
    const std::int64_t n = end - begin;
    Philox at = from;
    if (distribution == Distribution::kTruncatedNormal) {
      constexpr std::uint64_t kStep = 256;
      at.skip(static_cast<std::uint64_t>(begin) * kStep);
      philox_blocks(at, n, kStep, words);
      internal::normal_floats(words, 4 * n, to);
      for (std::int64_t g = 0; g < n; ++g, to += 4) {
        const bool fine = std::abs(to[0]) < 2 && std::abs(to[1]) < 2 && std::abs(to[2]) < 2 && std::abs(to[3]) < 2;
        if (!fine) truncated_group(at, to);
        at.skip(kStep);
      }
      return;
    }
    at.skip(static_cast<std::uint64_t>(begin));
    philox_blocks(at, n, 1, words);
    if (distribution == Distribution::kUniform) {
      internal::uniform_floats(words, 4 * n, to);
    } else {
      internal::normal_floats(words, 4 * n, to);
    }
  }
};

// Elements `first` and on, chunk by chunk over all groups; the first and the last, which the tensor may cut, by way of
// a buffer.
template <typename T, typename Groups>
void fill_groups(const Tensor& to, const Groups& groups, std::int64_t first = 0) {
  T* values = to.data<T>();
  std::int64_t n = to.elements(), group = first / kGroup<T>;
  T cut[kGroup<T>];
  if (const std::int64_t skipped = first % kGroup<T>; skipped > 0 && n > 0) {
    groups(group, group + 1, cut);
    const std::int64_t head = std::min(n, kGroup<T> - skipped);
    std::copy_n(cut + skipped, head, values);
    values += head;
    n -= head;
    ++group;
  }
  const std::int64_t whole = n / kGroup<T>;
  parallel_for(whole, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; g += kChunk) {
      groups(group + g, group + std::min(g + kChunk, end), values + g * kGroup<T>);
    }
  });
  if (whole * kGroup<T> < n) {
    groups(group + whole, group + whole + 1, cut);
    std::copy_n(cut, n - whole * kGroup<T>, values + whole * kGroup<T>);
  }
}

}  // namespace

Status fill_random(const Tensor& to, Distribution distribution, const Philox& from, bool plain, std::int64_t first) {
  if (to.dtype() == DType::kFloat32 && !plain) {
    fill_groups<float>(to, Vectors{distribution, from}, first);
    return ok_status();
  }
  return dispatch<FloatTypes>(to.dtype(), "random numbers", [&]<typename T>() {
    fill_groups<T>(to, Plain<T>{distribution, from}, first);
    return ok_status();
  });
}

Status fill_random_ints(const Tensor& to, std::uint64_t low, std::uint64_t range, const Philox& from) {
  using Types = TypeList<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return dispatch<Types>(to.dtype(), "random integers", [&]<typename T>() {
    using U = std::make_unsigned_t<T>;
    const auto within = static_cast<U>(range);
    const auto number = [&](U word) {
      return static_cast<T>(static_cast<U>(low) + (within == 0 ? word : static_cast<U>(word % within)));
    };
    fill_groups<T>(to, [&](std::int64_t begin, std::int64_t end, T* y) {
      std::uint32_t words[4 * kChunk];
      Philox at = from;
      at.skip(static_cast<std::uint64_t>(begin));
      philox_blocks(at, end - begin, 1, words);
      for (std::int64_t i = 0; i < (end - begin) * kGroup<T>; ++i) {
        if constexpr (sizeof(T) == 8) {
          y[i] = number(words[2 * i] | (std::uint64_t{words[2 * i + 1]} << 32));
        } else {
          y[i] = number(words[i]);
        }
      }
    });
    return ok_status();
  });
}

}  // namespace argosy
