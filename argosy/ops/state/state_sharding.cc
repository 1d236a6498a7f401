#include "argosy/ops/state/state_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> assign_sharding(const ShapeContext& c) {
  const HandleFact* behind = c.handle(0);
  if (behind == nullptr && c.input_dtype(0) == DType::kResource) return whole_because("the variable is not known");
  const PartialShape& variable = behind != nullptr ? behind->shape : c.input(0);
  if (!variable.is_full() || !c.input(1).is_full() || !variable.compatible(c.input(1))) {
    return whole_because("the value may have another shape than the variable");
  }
  return sharding_rule_from_text(str_cat("i.., i.. ->", c.num_outputs() > 0 ? " i.." : "", "; updates 0"), c);
}

}  // namespace argosy
