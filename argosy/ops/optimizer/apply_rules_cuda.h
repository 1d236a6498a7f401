// The rules of update_rules.h in device code: load one element of a variable and its slots, update, store. The rules'
// scalars are read from the GPU's memory. Private to the .cu files of this folder.
#pragma once

#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/optimizer/apply_cuda.h"
#include "argosy/ops/optimizer/update_rules.h"

namespace argosy::cuda {

// Updates element i of the variable and its slots with the gradient g.
template <typename T, typename Rule>
ARGOSY_DEVICE void update_element(const Rule& rule, void* const* variables, i64 i, Compute<T> g) {
  T* const w = static_cast<T*>(variables[0]);
  Compute<T> w0 = load(w, i);
  if constexpr (Rule::kVariables == 1) {
    rule(w0, g);
  } else {
    T* const a = static_cast<T*>(variables[1]);
    Compute<T> a0 = load(a, i);
    if constexpr (Rule::kVariables == 2) {
      rule(w0, a0, g);
    } else {
      T* const b = static_cast<T*>(variables[2]);
      Compute<T> b0 = load(b, i);
      if constexpr (Rule::kVariables == 3) {
        rule(w0, a0, b0, g);
      } else {
        T* const c = static_cast<T*>(variables[3]);
        Compute<T> c0 = load(c, i);
        rule(w0, a0, b0, c0, g);
        store(c, i, c0);
      }
      store(b, i, b0);
    }
    store(a, i, a0);
  }
  store(w, i, w0);
}

template <typename T, typename Rule>
ARGOSY_DEVICE Rule rule_of(const void* const* scalars) {
  Compute<T> numbers[ApplyTable::kMostScalars] = {};
  for (int i = 0; i < Rule::kScalars; ++i) numbers[i] = load(static_cast<const T*>(scalars[i]), 0);
  return Rule(numbers);
}

namespace rules {
#define ARGOSY_PLAIN_RULE(Rule) \
  template <typename A, bool>   \
  using Rule = optimizer::Rule<A>;
ARGOSY_PLAIN_RULE(GradientDescent)
ARGOSY_PLAIN_RULE(ProximalGradientDescent)
ARGOSY_PLAIN_RULE(Adadelta)
ARGOSY_PLAIN_RULE(ProximalAdagrad)
ARGOSY_PLAIN_RULE(AdamWithAmsgrad)
ARGOSY_PLAIN_RULE(AdaMax)
ARGOSY_PLAIN_RULE(RMSProp)
ARGOSY_PLAIN_RULE(CenteredRMSProp)
ARGOSY_PLAIN_RULE(AddSign)
ARGOSY_PLAIN_RULE(PowerSign)
#undef ARGOSY_PLAIN_RULE
using optimizer::Adagrad;
using optimizer::AdagradV2;
using optimizer::Adam;
using optimizer::KerasMomentum;
using optimizer::Momentum;
}  // namespace rules

namespace rules {  // names alone: each stands for two rules
template <typename A, bool kFlag>
struct Ftrl;
template <typename A, bool kFlag>
struct FtrlV2;
}  // namespace rules

// Calls walk(rule), with the rule made of the scalars.
template <typename T, template <typename, bool> class Rule, bool kFlag>
struct WithRule {
  template <typename Walk>
  static ARGOSY_DEVICE void call(const void* const* scalars, const Walk& walk) {
    walk(rule_of<T, Rule<Compute<T>, kFlag>>(scalars));
  }
};
// Calls walk() with the FTRL rule that the last scalar, lr_power, selects: the faster one where the power is a square
// root (lr_power is -0.5), which is the usual case.
template <typename T, typename Root, typename Power, typename Walk>
ARGOSY_DEVICE void with_ftrl(const void* const* scalars, const Walk& walk) {
  const Root root = rule_of<T, Root>(scalars);
  if (root.power.exponent == Compute<T>(0.5)) {
    walk(root);
  } else {
    walk(rule_of<T, Power>(scalars));
  }
}
template <typename T, bool kFlag>
struct WithRule<T, rules::Ftrl, kFlag> {
  template <typename Walk>
  static ARGOSY_DEVICE void call(const void* const* scalars, const Walk& walk) {
    with_ftrl<T, optimizer::Ftrl<Compute<T>, true, kFlag>, optimizer::Ftrl<Compute<T>, false, kFlag>>(scalars, walk);
  }
};
template <typename T, bool kFlag>
struct WithRule<T, rules::FtrlV2, kFlag> {
  template <typename Walk>
  static ARGOSY_DEVICE void call(const void* const* scalars, const Walk& walk) {
    with_ftrl<T, optimizer::FtrlV2<Compute<T>, true, kFlag>, optimizer::FtrlV2<Compute<T>, false, kFlag>>(scalars,
                                                                                                          walk);
  }
};

}  // namespace argosy::cuda
