// The epilogue of _FusedMatMul and _FusedConv2D, bias and activation: their attribute fused_ops, parsed.
#pragma once

#include "argosy/op/definition/attr.h"

namespace argosy {

// How fused_ops names the bias, whether it came from BiasAdd or from another op.
inline constexpr const char* kFusedBias = "BiasAdd";

struct FusedOps {
  enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kElu, kLeakyRelu, kSigmoid, kTanh };
  bool bias = false;
  Activation activation = Activation::kNone;
  float alpha = 0;  // slope of kLeakyRelu below 0
};

// fused_ops is [], ["BiasAdd"], [activation] or ["BiasAdd", activation]. `num_args` is the number of extra inputs: 1
// for a bias, else 0. Anything else is INVALID_ARGUMENT, and the error names it.
Result<FusedOps> parse_fused_ops(std::string_view op, const AttrMap& attrs, int num_args);

// True if the activation of that name ("Relu") can be fused. The fold pass asks this.
bool can_fuse_activation(std::string_view op);

// The activation of one value, as the op of that name computes it.
template <typename T>
T apply_activation(const FusedOps& fused, T x);

}  // namespace argosy
