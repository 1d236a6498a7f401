#include "argosy/ops/einsum/einsum_sharding.h"

#include <algorithm>

#include "argosy/ops/einsum/equation.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> einsum_sharding(const ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Equation equation,
                          einsum_parts::parse(c.attrs().get_string("equation"), c.num_inputs()));
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) ranks.push_back(c.input(i).rank());
  ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Labels labels, einsum_parts::label_axes(equation, ranks));
  ShardingRule rule{.kind = ShardingRule::Kind::kFactors};
  std::vector<int> seen;
  // Checks sizes first: an axis of an ellipsis may have size 1 where the other operand's is larger.
  const auto index = [&](int label) {
    const auto at = std::find(seen.begin(), seen.end(), label);
    if (at != seen.end()) return static_cast<std::size_t>(at - seen.begin());
    seen.push_back(label);
    rule.factors.push_back({.name = str_cat("l", label), .size = 1});
    return seen.size() - 1;
  };
  bool unknown = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const auto& own = labels.inputs[static_cast<std::size_t>(i)];
    for (std::size_t d = 0; d < own.size(); ++d) {
      Factor& f = rule.factors[index(own[d])];
      const std::int64_t size = c.input(i)[static_cast<int>(d)];
      unknown = unknown || (size < 0 && own[d] >= einsum_parts::kFirstBroadcast);
      if (f.size == 1 || (f.size < 0 && size >= 0)) f.size = size;
    }
  }
  if (unknown) return whole_because("a size under its ellipsis is not known");
  for (int i = 0; i < c.num_inputs(); ++i) {
    OperandRule o{.kind = OperandRule::Kind::kDims};
    const auto& own = labels.inputs[static_cast<std::size_t>(i)];
    for (std::size_t d = 0; d < own.size(); ++d) {
      const std::size_t f = index(own[d]);
      const bool broadcast = c.input(i)[static_cast<int>(d)] == 1 && rule.factors[f].size != 1;
      o.dims.push_back(broadcast ? FactorsOfDim{} : FactorsOfDim{static_cast<std::int8_t>(f)});
    }
    rule.inputs.push_back(std::move(o));
    const DType dtype = c.input_dtype(i);
    if (is_floating(dtype) || is_integer(dtype) || is_complex(dtype)) rule.linear.push_back({i});
  }
  OperandRule output{.kind = OperandRule::Kind::kDims};
  for (const int label : labels.output) output.dims.push_back({static_cast<std::int8_t>(index(label))});
  rule.outputs.push_back(std::move(output));
  for (std::size_t f = 0; f < seen.size(); ++f) {
    const bool kept = std::find(labels.output.begin(), labels.output.end(), seen[f]) != labels.output.end();
    if (!kept) rule.factors[f].role = rule.linear.empty() ? FactorRole::kWhole : FactorRole::kSum;
    rule.factors[f].name = seen[f] < 256 ? std::string(1, static_cast<char>(seen[f])) : str_cat("e", seen[f] - 256);
  }
  return rule;
}

}  // namespace argosy
