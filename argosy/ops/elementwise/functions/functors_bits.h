// Functors of functors.h for bits, comparisons and logic.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "argosy/ops/elementwise/functions/functors.h"

namespace argosy::scalar {

// --- bits, shifts (the distance is held within the type's width)
// -----------------------------------------------------------

struct BitwiseAnd {
  template <typename T>
  static T call(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct BitwiseOr {
  template <typename T>
  static T call(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct BitwiseXor {
  template <typename T>
  static T call(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
struct Invert {
  template <typename T>
  static T call(T x) {
    return static_cast<T>(~x);
  }
};
template <typename T>
int shift_distance(T y) {
  constexpr int kMost = static_cast<int>(8 * sizeof(T)) - 1;
  return y < T(0) ? 0 : y > T(kMost) ? kMost : static_cast<int>(y);
}
struct LeftShift {
  template <typename T>
  static T call(T x, T y) {
    return static_cast<T>(static_cast<wrapping_t<T>>(x) << shift_distance(y));
  }
};
struct RightShift {
  template <typename T>
  static T call(T x, T y) {
    return static_cast<T>(x >> shift_distance(y));
  }
};
struct PopulationCount {
  template <typename T>
  static std::uint8_t call(T x) {
    return static_cast<std::uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

// --- predicates
// ---------------------------------------------------------------------------------------------------------------

struct IsNan {
  template <typename T>
  static bool call(T x) {
    return x != x;
  }
};
struct IsInf {
  template <typename T>
  static bool call(T x) {
    return std::abs(x) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <typename T>
  static bool call(T x) {
    return std::abs(x) < std::numeric_limits<T>::infinity();
  }
};
struct LogicalNot {
  static bool call(bool x) { return !x; }
};
struct LogicalAnd {
  static bool call(bool x, bool y) { return x & y; }
};
struct LogicalOr {
  static bool call(bool x, bool y) { return x | y; }
};
struct Equal {
  template <typename T>
  static bool call(const T& x, const T& y) {
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  static bool call(const T& x, const T& y) {
    return !(x == y);
  }
};
struct Less {
  template <typename T>
  static bool call(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename T>
  static bool call(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <typename T>
  static bool call(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <typename T>
  static bool call(T x, T y) {
    return x >= y;
  }
};

}  // namespace argosy::scalar
