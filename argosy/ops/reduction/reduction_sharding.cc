#include "argosy/ops/reduction/reduction_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// `role`: of the reduced dimensions.
Result<ShardingRule> reduced(const ShapeContext& c, std::string_view role, std::string_view clauses) {
  const int rank = c.input(0).rank();
  const auto axes = axes_within(c, 1, rank);
  if (!axes) return whole_because("the axes that it reduces are not known");
  const bool keeps = c.attrs().get_or("keep_dims", false);
  const DimNames x = dim_names(rank);
  std::vector<bool> gone(x.size());
  for (const int axis : *axes) gone[static_cast<std::size_t>(axis)] = true;
  DimNames y;
  std::string roles;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!gone[d]) y.push_back(x[d]);
    if (gone[d] && keeps) y.emplace_back("1");
    if (gone[d]) roles += str_cat("; ", role, " ", x[d]);
  }
  return sharding_rule_from_text(str_cat(joined(x), ", . -> ", joined(y), roles, clauses), c);
}

Result<ShardingRule> scanned(const ShapeContext& c, std::string_view clauses) {
  const auto axis = axis_within(c.input_as_int(1), c.input(0).rank());
  if (!axis) return whole_because("its axis is not known");
  const std::string x = joined(dim_names(c.input(0).rank()));
  return sharding_rule_from_text(str_cat(x, ", . -> ", x, "; whole d", *axis, clauses), c);
}

}  // namespace

Result<ShardingRule> sum_sharding(const ShapeContext& c) { return reduced(c, "sum", "; linear 0"); }
Result<ShardingRule> mean_sharding(const ShapeContext& c) {
  return is_integer(c.input_dtype(0)) ? reduced(c, "whole", "; linear no") : reduced(c, "mean", "; linear 0");
}
Result<ShardingRule> max_sharding(const ShapeContext& c) { return reduced(c, "max", ""); }
Result<ShardingRule> min_sharding(const ShapeContext& c) { return reduced(c, "min", ""); }
Result<ShardingRule> fold_sharding(const ShapeContext& c) { return reduced(c, "whole", ""); }

Result<ShardingRule> arg_sharding(const ShapeContext& c) {
  const auto axis = axis_within(c.input_as_int(1), c.input(0).rank());
  if (!axis) return whole_because("its axis is not known");
  const DimNames x = dim_names(c.input(0).rank());
  DimNames y = x;
  y.erase(y.begin() + *axis);
  return sharding_rule_from_text(str_cat(joined(x), ", . -> ", joined(y), "; whole d", *axis), c);
}

Result<ShardingRule> scan_sharding(const ShapeContext& c) { return scanned(c, ""); }
Result<ShardingRule> linear_scan_sharding(const ShapeContext& c) { return scanned(c, "; linear 0"); }

}  // namespace argosy
