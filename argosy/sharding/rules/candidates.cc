#include "argosy/sharding/rules/candidates.h"

#include <algorithm>

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

RuleCandidate replicated(const ShardingRule& rule) {
  RuleCandidate c{.what = "replicated"};
  c.inputs.resize(rule.inputs.size());
  c.outputs.resize(rule.outputs.size());
  return c;
}

Placement without(FactorRole role) {
  switch (role) {
    case FactorRole::kSum:
    case FactorRole::kMean: return Placement::partial(Combine::kSum);
    case FactorRole::kMax: return Placement::partial(Combine::kMax);
    case FactorRole::kMin: return Placement::partial(Combine::kMin);
    default: return Placement::replicate();
  }
}

RuleCandidate along(const ShardingRule& rule, int factor) {
  const Factor& f = rule.factors[static_cast<std::size_t>(factor)];
  RuleCandidate c = replicated(rule);
  c.what = "along " + f.name;
  c.factor = factor;
  c.mean = f.role == FactorRole::kMean;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    const OperandRule& o = rule.inputs[i];
    if (o.kind == Kind::kScratch) c.inputs[i] = Placement::varying();
    const FactorPlace at = find_factor(rule, o, factor);
    if (at.dim < 0) continue;
    if (o.kind == Kind::kDims) c.inputs[i] = Placement::shard(at.dim, at.rounds, at.unit);
    if (o.kind == Kind::kSizes) c.sizes.push_back({static_cast<int>(i), at.dim});
  }
  for (std::size_t k = 0; k < rule.outputs.size(); ++k) {
    const OperandRule& o = rule.outputs[k];
    const FactorPlace at = find_factor(rule, o, factor);
    if (at.dim >= 0) {
      c.outputs[k] = Placement::shard(at.dim, at.rounds, at.unit);
    } else if (o.kind == Kind::kOpaque) {
      c.outputs[k] = Placement::varying();
    } else if (o.kind == Kind::kDims) {
      c.outputs[k] = without(f.role);
    }
  }
  return c;
}

RuleCandidate partial(const ShardingRule& rule, const std::vector<int>& inputs, Combine how) {
  RuleCandidate c = replicated(rule);
  const char* const word = how == Combine::kSum ? "sum" : how == Combine::kMax ? "maximum" : "minimum";
  c.what = str_cat(word, " of input", inputs.size() > 1 ? "s" : "");
  for (const int i : inputs) {
    c.what += str_cat(" ", i);
    c.inputs[static_cast<std::size_t>(i)] = Placement::partial(how);
  }
  for (std::size_t k = 0; k < rule.outputs.size(); ++k) {
    if (rule.outputs[k].kind != Kind::kEqual) c.outputs[k] = Placement::partial(how);
  }
  return c;
}

}  // namespace

FactorPlace find_factor(const ShardingRule& rule, const OperandRule& operand, int factor) {
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const FactorsOfDim& dim = operand.dims[d];
    const auto at = std::find(dim.begin(), dim.end(), factor);
    if (at == dim.end()) continue;
    const auto product = [&](auto begin, auto end) {
      std::int64_t p = 1;
      for (auto f = begin; f != end; ++f) {
        const std::int64_t size = rule.factors[static_cast<std::size_t>(*f)].size;
        p = size < 0 || p < 0 ? -1 : p * size;
      }
      return p;
    };
    return {static_cast<int>(d), product(dim.begin(), at), product(at + 1, dim.end())};
  }
  return {};
}

bool can_shard(const ShardingRule& rule, int factor) {
  switch (rule.factors[static_cast<std::size_t>(factor)].role) {
    case FactorRole::kWhole:
    case FactorRole::kHalo:
    case FactorRole::kRows: return false;
    default: break;
  }
  const auto can = [&](const OperandRule& o) {
    int times = 0;
    for (const FactorsOfDim& dim : o.dims) times += static_cast<int>(std::count(dim.begin(), dim.end(), factor));
    if (times == 0) return true;
    // 0: there is nothing to shard. -1: how often the shards come is not known.
    const FactorPlace at = find_factor(rule, o, factor);
    return times == 1 && at.rounds > 0 && at.unit > 0;
  };
  return std::all_of(rule.inputs.begin(), rule.inputs.end(), can) &&
         std::all_of(rule.outputs.begin(), rule.outputs.end(), can);
}

std::vector<RuleCandidate> candidates(const ShardingRule& rule) {
  std::vector<RuleCandidate> all = {replicated(rule)};
  if (rule.kind == ShardingRule::Kind::kOnce) {
    all[0].what = "once";
    for (Placement& p : all[0].outputs) p = Placement::once();
  }
  if (rule.kind != ShardingRule::Kind::kFactors) return all;
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    if (can_shard(rule, f)) all.push_back(along(rule, f));
  }
  if (!rule.updates.empty()) return all;  // the new value of a variable is never partial
  for (const auto& group : rule.linear) {
    all.push_back(partial(rule, group, Combine::kSum));
    all.back().group = group;
  }
  for (const int i : rule.monotone) {
    all.push_back(partial(rule, {i}, Combine::kMax));
    all.push_back(partial(rule, {i}, Combine::kMin));
  }
  return all;
}

}  // namespace argosy
