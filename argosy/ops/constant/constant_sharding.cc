#include "argosy/ops/constant/constant_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

Result<ShardingRule> identity_n_sharding(const ShapeContext& c) {
  constexpr int kMostFactors = 100;
  ShardingRule rule{.kind = ShardingRule::Kind::kFactors};
  std::vector<int> all;
  bool numbers = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    OperandRule o{.kind = OperandRule::Kind::kDims};
    for (int d = 0; d < c.input(i).rank(); ++d) {
      o.dims.push_back({static_cast<std::int8_t>(rule.factors.size())});
      rule.factors.push_back({str_cat("t", i, "_", d), c.input(i)[d], FactorRole::kEqual});
      if (static_cast<int>(rule.factors.size()) > kMostFactors) return whole_because("it has more than 100 dimensions");
    }
    const DType dtype = c.input_dtype(i);
    numbers = numbers && (is_floating(dtype) || is_integer(dtype) || is_complex(dtype));
    all.push_back(i);
    rule.inputs.push_back(o);
    rule.outputs.push_back(std::move(o));
  }
  if (numbers && !all.empty()) rule.linear = {all};
  return rule;
}

}  // namespace argosy
