#include "argosy/train/model/clipping.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"

namespace argosy {

namespace {

// norm / max(norm, limit) <= 1: never divides by zero.
Value factor_for(Value norm, double limit) { return limit / maximum(norm, limit); }

}  // namespace

Value clip_by_norm(Value x, double norm) { return x.valid() ? x * factor_for(sqrt(reduce_sum(square(x))), norm) : x; }

Value global_norm(const std::vector<Value>& values) {
  std::vector<Value> halves;
  for (const Value& v : values) {
    if (v.valid()) halves.push_back(cast(l2_loss(v), DType::kFloat32));
  }
  if (halves.empty()) return {};
  const Value sum = halves.size() == 1 ? halves[0] : halves[0].graph().add("AddN", halves);
  return sqrt(sum * 2.0);
}

std::vector<Value> clip_by_global_norm(const std::vector<Value>& values, double norm, Value* norm_before) {
  const Value before = global_norm(values);
  if (norm_before != nullptr) *norm_before = before;
  if (!before.valid()) return values;
  // Infinity would scale every finite value to zero; Infinity - Infinity and NaN say what happened.
  const Value factor = factor_for(before, norm) + (before - before);
  std::vector<Value> clipped;
  for (const Value& v : values) clipped.push_back(v.valid() ? v * cast(factor, v.dtype()) : v);
  return clipped;
}

}  // namespace argosy
