#include "argosy/ops/segment/segment_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> bincount_sharding(const ShapeContext& c) {
  const std::int64_t elements = c.input(0).elements(), weights = c.input(2).elements();
  if (elements < 0 || weights < 0) return whole_because("whether it has weights is not known");
  if (elements == 0) return whole_because("it has nothing to count");
  const bool rows = c.output(0).rank() == 2;  // DenseBincount of a matrix
  const bool whether = c.attrs().get_or("binary_output", false);
  const std::string list = rows ? "n k" : "i..";
  return sharding_rule_from_text(
      str_cat(list, ", ., ", weights == 0 ? "." : list, " -> ", rows ? "n 1; whole k" : "1; ",
              rows      ? ""
              : whether ? "whole i.."
                        : "sum i.."),
      c);
}

}  // namespace argosy
