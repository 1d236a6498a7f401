#include "argosy/ops/cast/cast_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> cast_sharding(const ShapeContext& c) {
  const DType from = c.input_dtype(0), to = c.attrs().get_type("DstT");
  const auto is_signed = [](DType d) {
    return d == DType::kInt8 || d == DType::kInt16 || d == DType::kInt32 || d == DType::kInt64;
  };
  const bool floats = (is_floating(from) || is_complex(from)) && (is_floating(to) || is_complex(to));
  // A sum of two shards may wrap around where neither shard does. So a cast of integers is linear only if its result
  // wraps likewise.
  const bool wraps = is_integer(from) && is_integer(to) && element_bytes(to) <= element_bytes(from);
  const bool grows = is_signed(from) && is_signed(to) && element_bytes(to) >= element_bytes(from);
  const bool rises = (is_floating(from) && is_floating(to)) || grows || (is_signed(from) && is_floating(to));
  return sharding_rule_from_text(
      str_cat("i.. -> i..", floats || wraps ? "; linear 0" : "; linear no", rises ? "; monotone 0" : ""), c);
}

}  // namespace argosy
