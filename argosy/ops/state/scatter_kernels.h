// Element updates that the CPU kernels of the state family share (Assign, Add …), and registration functions. Internal
// to the family.
#pragma once

#include <complex>
#include <type_traits>

#include "argosy/op/kernel/kernel.h"

namespace argosy::state {

void add_scatter_kernels(KernelRegistry& kernels);
void add_gather_kernels(KernelRegistry& kernels);

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Integers wrap around, as in TensorFlow; unsigned arithmetic (of at least int's width) says so to the compiler.
template <typename T, typename Fn>
T wrapping(T a, T b, Fn fn) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
    return static_cast<T>(fn(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return fn(a, b);
  }
}

struct Assign {
  template <typename T>
  static T of(T, T by) {
    return by;
  }
};
struct Add {
  template <typename T>
  static T of(T a, T by) {
    return wrapping(a, by, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <typename T>
  static T of(T a, T by) {
    return wrapping(a, by, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <typename T>
  static T of(T a, T by) {
    return wrapping(a, by, [](auto x, auto y) { return x * y; });
  }
};
// REQUIRES for integers: by != 0.
struct Div {
  template <typename T>
  static T of(T a, T by) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (by == T(-1)) return Sub::of(T(0), a);  // -lowest() is not representable: it wraps
    }
    return static_cast<T>(a / by);
  }
};
struct Min {
  template <typename T>
  static T of(T a, T by) {
    return by < a ? by : a;
  }
};
struct Max {
  template <typename T>
  static T of(T a, T by) {
    return a < by ? by : a;
  }
};

}  // namespace argosy::state
