// The update rule of each optimizer for one element: from the gradient g it computes the new variable w and its slots.
// The formulas are TensorFlow's (core/kernels/training_ops.cc), with its order of operations where that affects the
// result. T is float, double or complex. `h` holds the op's scalar inputs, in the op's order, without the gradient.
// Host and device code include this file.
#pragma once

#include <cmath>

namespace argosy::optimizer {

#if defined(__CUDACC__)
#define ARGOSY_RULE __device__ __forceinline__
#else
#define ARGOSY_RULE [[gnu::always_inline]] inline
#endif
#define ARGOSY_RULE_CALL ARGOSY_RULE void operator()

template <typename T>
ARGOSY_RULE T sign_of(T x) {
  return x == x ? T(T(0) < x) - T(x < T(0)) : x;  // NaN stays
}
// Soft thresholding: |x| reduced by l1, at most to zero, with the sign of x.
template <typename T>
ARGOSY_RULE T shrunk(T x, T l1) {
  const T rest = std::abs(x) - l1;
  return rest <= T(0) ? T(0) : sign_of(x) * rest;  // NaN stays
}

template <typename T>
struct GradientDescent {
  static constexpr int kVariables = 1;
  static constexpr int kScalars = 1;
  T alpha;
  ARGOSY_RULE explicit GradientDescent(const T* h) : alpha(h[0]) {}
  ARGOSY_RULE_CALL(T& w, T g) const { w -= alpha * g; }
};

template <typename T>
struct ProximalGradientDescent {
  static constexpr int kVariables = 1;
  static constexpr int kScalars = 3;
  T alpha, l1, shrink;
  ARGOSY_RULE explicit ProximalGradientDescent(const T* h)
      : alpha(h[0]), l1(h[1] > T(0) ? h[0] * h[1] : T(0)), shrink(T(1) + h[2] * h[0]) {}
  ARGOSY_RULE_CALL(T& w, T g) const { w = shrunk(w - alpha * g, l1) / shrink; }
};

template <typename T>
struct Adadelta {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 3;
  T lr, rho, epsilon;
  ARGOSY_RULE explicit Adadelta(const T* h) : lr(h[0]), rho(h[1]), epsilon(h[2]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T& accum_update, T g) const {
    accum = accum * rho + g * g * (T(1) - rho);
    const T update = std::sqrt(accum_update + epsilon) / std::sqrt(accum + epsilon) * g;
    w -= update * lr;
    accum_update = accum_update * rho + update * update * (T(1) - rho);
  }
};

template <typename T, bool kUpdateSlots>
struct Adagrad {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 1;
  T lr;
  ARGOSY_RULE explicit Adagrad(const T* h) : lr(h[0]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T g) const {
    if constexpr (kUpdateSlots) accum += g * g;
    w -= g * lr / std::sqrt(accum);
  }
};

template <typename T, bool kUpdateSlots>
struct AdagradV2 {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 2;
  T lr, epsilon;
  ARGOSY_RULE explicit AdagradV2(const T* h) : lr(h[0]), epsilon(h[1]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T g) const {
    if constexpr (kUpdateSlots) accum += g * g;
    w -= g * lr / (std::sqrt(accum) + epsilon);
  }
};

template <typename T>
struct ProximalAdagrad {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 3;
  T lr, l1, l2;
  ARGOSY_RULE explicit ProximalAdagrad(const T* h) : lr(h[0]), l1(h[1] > T(0) ? h[1] : T(0)), l2(h[2]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T g) const {
    accum += g * g;
    const T rate = lr / std::sqrt(accum);
    w = shrunk(w - g * rate, rate * l1) / (T(1) + l2 * rate);
  }
};

// The last scalar is the global step.
template <typename T>
struct AdagradDA {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 4;
  T lr, l1, l2;
  ARGOSY_RULE explicit AdagradDA(const T* h) : lr(h[0]), l1(h[1] > T(0) ? h[1] * h[3] : T(0)), l2(h[2] * h[3] * h[0]) {}
  ARGOSY_RULE_CALL(T& w, T& sum, T& squares, T g) const {
    sum += g;
    squares += g * g;
    w = lr * -shrunk(sum, l1) / (l2 + std::sqrt(squares));
  }
};

template <typename T, bool kNesterov>
struct Momentum {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 2;
  T lr, momentum;
  ARGOSY_RULE explicit Momentum(const T* h) : lr(h[0]), momentum(h[1]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T g) const {
    accum = accum * momentum + g;
    if constexpr (kNesterov) {
      w -= g * lr + accum * momentum * lr;
    } else {
      w -= accum * lr;
    }
  }
};

template <typename T, bool kNesterov>
struct KerasMomentum {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 2;
  T lr, momentum;
  ARGOSY_RULE explicit KerasMomentum(const T* h) : lr(h[0]), momentum(h[1]) {}
  ARGOSY_RULE_CALL(T& w, T& accum, T g) const {
    accum = accum * momentum - g * lr;
    if constexpr (kNesterov) {
      w += accum * momentum - g * lr;
    } else {
      w += accum;
    }
  }
};

template <typename T, bool kNesterov>
struct Adam {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 6;
  T alpha, beta1, beta2, epsilon;
  ARGOSY_RULE explicit Adam(const T* h)
      : alpha(h[2] * std::sqrt(T(1) - h[1]) / (T(1) - h[0])), beta1(h[3]), beta2(h[4]), epsilon(h[5]) {}
  ARGOSY_RULE_CALL(T& w, T& m, T& v, T g) const {
    m += (g - m) * (T(1) - beta1);
    v += (g * g - v) * (T(1) - beta2);
    if constexpr (kNesterov) {
      w -= (g * (T(1) - beta1) + beta1 * m) * alpha / (std::sqrt(v) + epsilon);
    } else {
      w -= m * alpha / (std::sqrt(v) + epsilon);
    }
  }
};

template <typename T>
struct AdamWithAmsgrad {
  static constexpr int kVariables = 4;
  static constexpr int kScalars = 6;
  T alpha, beta1, beta2, epsilon;
  ARGOSY_RULE explicit AdamWithAmsgrad(const T* h)
      : alpha(h[2] * std::sqrt(T(1) - h[1]) / (T(1) - h[0])), beta1(h[3]), beta2(h[4]), epsilon(h[5]) {}
  ARGOSY_RULE_CALL(T& w, T& m, T& v, T& vhat, T g) const {
    m += (g - m) * (T(1) - beta1);
    v += (g * g - v) * (T(1) - beta2);
    vhat = vhat < v ? v : vhat;
    w -= m * alpha / (std::sqrt(vhat) + epsilon);
  }
};

template <typename T>
struct AdaMax {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 5;
  T alpha, beta1, beta2, epsilon;
  ARGOSY_RULE explicit AdaMax(const T* h) : alpha(h[1] / (T(1) - h[0])), beta1(h[2]), beta2(h[3]), epsilon(h[4]) {}
  ARGOSY_RULE_CALL(T& w, T& m, T& v, T g) const {
    m += (g - m) * (T(1) - beta1);
    const T size = std::abs(g);
    const T faded = beta2 * v;
    v = faded < size ? size : faded;
    w -= alpha * (m / (v + epsilon));
  }
};

template <typename T>
struct RMSProp {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 4;
  T lr, rho, momentum, epsilon;
  ARGOSY_RULE explicit RMSProp(const T* h) : lr(h[0]), rho(h[1]), momentum(h[2]), epsilon(h[3]) {}
  ARGOSY_RULE_CALL(T& w, T& ms, T& mom, T g) const {
    ms += (g * g - ms) * (T(1) - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms + epsilon);
    w -= mom;
  }
};

template <typename T>
struct CenteredRMSProp {
  static constexpr int kVariables = 4;
  static constexpr int kScalars = 4;
  T lr, rho, momentum, epsilon;
  ARGOSY_RULE explicit CenteredRMSProp(const T* h) : lr(h[0]), rho(h[1]), momentum(h[2]), epsilon(h[3]) {}
  ARGOSY_RULE_CALL(T& w, T& mg, T& ms, T& mom, T g) const {
    ms += (g * g - ms) * (T(1) - rho);
    mg += (g - mg) * (T(1) - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms - mg * mg + epsilon);
    w -= mom;
  }
};

template <typename T>
struct AddSign {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 4;
  T lr, alpha, sign_decay, beta;
  ARGOSY_RULE explicit AddSign(const T* h) : lr(h[0]), alpha(h[1]), sign_decay(h[2]), beta(h[3]) {}
  ARGOSY_RULE_CALL(T& w, T& m, T g) const {
    m = m * beta + g * (T(1) - beta);
    w -= lr * (alpha + sign_decay * sign_of(g) * sign_of(m)) * g;
  }
};

template <typename T>
struct PowerSign {
  static constexpr int kVariables = 2;
  static constexpr int kScalars = 4;
  T lr, logbase, sign_decay, beta;
  ARGOSY_RULE explicit PowerSign(const T* h) : lr(h[0]), logbase(h[1]), sign_decay(h[2]), beta(h[3]) {}
  ARGOSY_RULE_CALL(T& w, T& m, T g) const {
    m = m * beta + g * (T(1) - beta);
    w -= lr * std::exp(logbase * sign_decay * sign_of(g) * sign_of(m)) * g;
  }
};

// Computes x^(-lr_power). kRoot: that is the square root, the usual case.
template <typename T, bool kRoot>
struct FtrlPower {
  T exponent;
  ARGOSY_RULE T operator()(T x) const {
    if constexpr (kRoot) {
      return std::sqrt(x);
    } else {
      return std::pow(x, exponent);
    }
  }
};

// kLinearByLr: `linear` is stored multiplied by the learning rate. `shrinkage` is 0 in the first version of the op.
template <typename T, bool kRoot, bool kLinearByLr, bool kShrinks>
struct FtrlRule {
  T lr, l1, l2, shrinkage;
  FtrlPower<T, kRoot> power;
  ARGOSY_RULE_CALL(T& w, T& accum, T& linear, T g) const {
    const T fresh = accum + g * g;
    const T seen = kShrinks ? g + T(2) * shrinkage * w : g;  // 0 times a weight that is infinite would be NaN
    const T now = power(fresh);
    if constexpr (kLinearByLr) {
      linear += seen * lr - (now - power(accum)) * w;
      w = std::abs(linear) > l1 * lr ? (sign_of(linear) * l1 * lr - linear) / (now + T(2) * l2 * lr) : T(0);
    } else {
      linear += seen - (now - power(accum)) / lr * w;
      w = std::abs(linear) > l1 ? (sign_of(linear) * l1 - linear) / (now / lr + T(2) * l2) : T(0);
    }
    accum = fresh;
  }
};
template <typename T, bool kRoot, bool kLinearByLr>
struct Ftrl : FtrlRule<T, kRoot, kLinearByLr, false> {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 4;
  ARGOSY_RULE explicit Ftrl(const T* h) : FtrlRule<T, kRoot, kLinearByLr, false>{h[0], h[1], h[2], T(0), {-h[3]}} {}
};
template <typename T, bool kRoot, bool kLinearByLr>
struct FtrlV2 : FtrlRule<T, kRoot, kLinearByLr, true> {
  static constexpr int kVariables = 3;
  static constexpr int kScalars = 5;
  ARGOSY_RULE explicit FtrlV2(const T* h) : FtrlRule<T, kRoot, kLinearByLr, true>{h[0], h[1], h[2], h[3], {-h[4]}} {}
};

#undef ARGOSY_RULE_CALL
#undef ARGOSY_RULE

}  // namespace argosy::optimizer
