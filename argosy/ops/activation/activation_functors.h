// What each activation computes for one element: TensorFlow's definition. Private to this folder.
#pragma once

#include <cmath>

namespace argosy::activation {

// Constants of SELU (Klambauer et al. 2017), rounded as in TensorFlow.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

struct Relu {
  template <typename T>
  static T call(T x) {
    return x < T(0) ? T(0) : x;  // NaN stays
  }
};
struct Relu6 {
  template <typename T>
  static T call(T x) {
    return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
  }
};
struct Elu {
  template <typename T>
  static T call(T x) {
    return x < T(0) ? std::expm1(x) : x;
  }
};
struct Selu {
  template <typename T>
  static T call(T x) {
    return x < T(0) ? T(kSeluScaleAlpha) * std::expm1(x) : T(kSeluScale) * x;
  }
};
struct Softplus {
  template <typename T>
  static T call(T x) {
    return (x < T(0) ? T(0) : x) + std::log1p(std::exp(-std::abs(x)));
  }
};

// Gradients, from the output's gradient d and the features x or the output y. As in TensorFlow, an infinite d times
// zero is NaN.
struct ReluGrad {
  template <typename T>
  static T call(T d, T x) {
    return static_cast<T>(d * (x > T(0) ? T(1) : T(0)));
  }
};
struct Relu6Grad {
  template <typename T>
  static T call(T d, T x) {
    return static_cast<T>(d * (x > T(0) && x < T(6) ? T(1) : T(0)));
  }
};
struct EluGrad {
  template <typename T>
  static T call(T d, T y) {
    return y < T(0) ? (y + T(1)) * d : d;
  }
};
struct SeluGrad {
  template <typename T>
  static T call(T d, T y) {
    return d * (y < T(0) ? y + T(kSeluScaleAlpha) : T(kSeluScale));
  }
};
struct SoftplusGrad {
  template <typename T>
  static T call(T d, T x) {
    return d / (std::exp(-x) + T(1));
  }
};

}  // namespace argosy::activation
