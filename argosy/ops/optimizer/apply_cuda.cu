// Optimizer updates: the rules of rules.h, many variables a launch, the numbers read on the card.
#include "argosy/device/cuda/kernel_source.h"
#include "argosy/ops/optimizer/apply_cuda.h"
#include "argosy/ops/optimizer/rules.h"

namespace argosy::cuda {

template <typename T, typename Rule>
ARGOSY_DEVICE void walk(const Rule& rule, const ApplyTable::Update& u) {
  const T* const g = static_cast<const T*>(u.gradient);
  T* const w = static_cast<T*>(u.variables[0]);
  for (i64 i = first_index(); i < u.n; i += index_step()) {
    Compute<T> w0 = load(w, i);
    if constexpr (Rule::kVariables == 1) {
      rule(w0, load(g, i));
    } else {
      T* const a = static_cast<T*>(u.variables[1]);
      Compute<T> a0 = load(a, i);
      if constexpr (Rule::kVariables == 2) {
        rule(w0, a0, load(g, i));
      } else {
        T* const b = static_cast<T*>(u.variables[2]);
        Compute<T> b0 = load(b, i);
        if constexpr (Rule::kVariables == 3) {
          rule(w0, a0, b0, load(g, i));
        } else {
          T* const c = static_cast<T*>(u.variables[3]);
          Compute<T> c0 = load(c, i);
          rule(w0, a0, b0, c0, load(g, i));
          store(c, i, c0);
        }
        store(b, i, b0);
      }
      store(a, i, a0);
    }
    store(w, i, w0);
  }
}

template <typename T, typename Rule>
ARGOSY_DEVICE Rule rule_of(const ApplyTable& table) {
  Compute<T> scalars[ApplyTable::kMostScalars] = {};
  for (int i = 0; i < Rule::kScalars; ++i) scalars[i] = load(static_cast<const T*>(table.scalars[i]), 0);
  return Rule(scalars);
}
template <typename T, typename Rule>
ARGOSY_DEVICE void apply(const ApplyTable& table) {
  walk<T>(rule_of<T, Rule>(table), table.updates[blockIdx.y]);
}
// The power that is a square root almost always is one here: the last scalar decides.
template <typename T, typename Root, typename Power>
ARGOSY_DEVICE void apply_ftrl(const ApplyTable& table) {
  const Root root = rule_of<T, Root>(table);
  if (root.power.exponent == Compute<T>(0.5)) {
    walk<T>(root, table.updates[blockIdx.y]);
  } else {
    walk<T>(rule_of<T, Power>(table), table.updates[blockIdx.y]);
  }
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

template <typename T, template <typename, bool> class Rule, bool kFlag>
struct Run {
  static ARGOSY_DEVICE void call(const ApplyTable& t) { apply<T, Rule<Compute<T>, kFlag>>(t); }
};
namespace rules {  // names alone: each stands for two rules
template <typename A, bool kFlag>
struct Ftrl;
template <typename A, bool kFlag>
struct FtrlV2;
}  // namespace rules
template <typename T, bool kFlag>
struct Run<T, rules::Ftrl, kFlag> {
  static ARGOSY_DEVICE void call(const ApplyTable& t) {
    apply_ftrl<T, optimizer::Ftrl<Compute<T>, true, kFlag>, optimizer::Ftrl<Compute<T>, false, kFlag>>(t);
  }
};
template <typename T, bool kFlag>
struct Run<T, rules::FtrlV2, kFlag> {
  static ARGOSY_DEVICE void call(const ApplyTable& t) {
    apply_ftrl<T, optimizer::FtrlV2<Compute<T>, true, kFlag>, optimizer::FtrlV2<Compute<T>, false, kFlag>>(t);
  }
};

#define ARGOSY_APPLY(Rule, flag)                                                                                  \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f32, ApplyTable table) { Run<f32, rules::Rule, flag != 0>::call(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f64, ApplyTable table) { Run<f64, rules::Rule, flag != 0>::call(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_f16, ApplyTable table) { Run<f16, rules::Rule, flag != 0>::call(table); } \
  ARGOSY_KERNEL(apply_##Rule##_##flag##_bf16, ApplyTable table) { Run<bf16, rules::Rule, flag != 0>::call(table); }
ARGOSY_CUDA_RULES(ARGOSY_APPLY)

}  // namespace argosy::cuda
