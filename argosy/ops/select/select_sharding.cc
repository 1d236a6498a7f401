#include "argosy/ops/select/select_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> select_sharding(const ShapeContext& c) {
  const int condition = c.input(0).rank(), rank = c.input(1).rank();
  const char* const text = condition == rank ? "i.., i.., i.. -> i..; linear 1 2"
                           : condition == 0  ? "-, i.., i.. -> i..; linear 1 2"
                                             : "n, n i.., n i.. -> n i..; linear 1 2";
  return sharding_rule_from_text(text, c);
}

}  // namespace argosy
