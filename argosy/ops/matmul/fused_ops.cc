#include "argosy/ops/matmul/fused_ops.h"

#include <array>
#include <cmath>

namespace argosy {

namespace {

using Activation = FusedOps::Activation;

constexpr std::array<std::pair<std::string_view, Activation>, 6> kActivations = {{{"Relu", Activation::kRelu},
                                                                                  {"Relu6", Activation::kRelu6},
                                                                                  {"Elu", Activation::kElu},
                                                                                  {"LeakyRelu", Activation::kLeakyRelu},
                                                                                  {"Sigmoid", Activation::kSigmoid},
                                                                                  {"Tanh", Activation::kTanh}}};

Activation find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return Activation::kNone;
}

}  // namespace

bool can_fuse_activation(std::string_view op) { return find_activation(op) != Activation::kNone; }

Result<FusedOps> parse_fused_ops(std::string_view op, const AttrMap& attrs, int num_args) {
  const auto& names = attrs.get<std::vector<std::string>>("fused_ops");
  FusedOps fused;
  fused.alpha = attrs.get_or<float>("leakyrelu_alpha", 0.2f);
  std::size_t at = 0;
  if (at < names.size() && names[at] == kFusedBias) {
    fused.bias = true;
    ++at;
  }
  if (at < names.size()) {
    fused.activation = find_activation(names[at]);
    if (fused.activation != Activation::kNone) ++at;
  }
  if (at != names.size()) {
    return invalid_argument(op, ": fused_ops [", str_join(names),
                            "] is none of [], [BiasAdd], [ACTIVATION], [BiasAdd, ACTIVATION] with ACTIVATION one of "
                            "Relu, Relu6, Elu, LeakyRelu, Sigmoid, Tanh");
  }
  if (num_args != (fused.bias ? 1 : 0)) {
    return invalid_argument(op, ": fused_ops [", str_join(names), "] takes ", fused.bias ? 1 : 0, " more inputs, not ",
                            num_args);
  }
  return fused;
}

template <typename T>
T apply_activation(const FusedOps& fused, T x) {
  switch (fused.activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return x < T(0) ? T(0) : x;  // NaN stays NaN
    case Activation::kRelu6: return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
    case Activation::kElu: return x < T(0) ? std::expm1(x) : x;
    case Activation::kLeakyRelu: return x < T(0) ? T(fused.alpha) * x : x;
    case Activation::kSigmoid: return T(1) / (T(1) + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
  }
  return x;
}
template float apply_activation(const FusedOps&, float);
template double apply_activation(const FusedOps&, double);

}  // namespace argosy
