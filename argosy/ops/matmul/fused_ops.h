// What _FusedMatMul and _FusedConv2D do after the sum: their attribute fused_ops, read once.
#pragma once

#include "argosy/op/definition/attr.h"

namespace argosy {

// The name of the bias in fused_ops, whichever op added it.
inline constexpr const char* kFusedBias = "BiasAdd";

struct FusedOps {
  enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kElu, kLeakyRelu, kSigmoid, kTanh };
  bool bias = false;
  Activation activation = Activation::kNone;
  float alpha = 0;  // of kLeakyRelu
};

// fused_ops is [], ["BiasAdd"], [activation] or ["BiasAdd", activation]; `num_args` tensors come with it.
// INVALID_ARGUMENT, naming what there is, for anything else.
Result<FusedOps> parse_fused_ops(std::string_view op, const AttrMap& attrs, int num_args);

// The activation of that name ("Relu"), if it can be fused: what the fold pass asks.
bool can_fuse_activation(std::string_view op);

// On one value, as the op of that name does.
template <typename T>
T apply_activation(const FusedOps& fused, T x);

}  // namespace argosy
