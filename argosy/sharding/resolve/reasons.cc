#include "argosy/sharding/resolve/reasons.h"

#include <algorithm>

namespace argosy {

namespace {

std::string called(const Node& n) { return str_cat("'", n.name, "' (", n.op->name, ")"); }

bool updates_something(const ShardingRule& rule) { return !rule.updates.empty(); }

}  // namespace

std::string why_whole(const AxisState& s, NodeId id) {
  const Node& n = s.graph.node(id);
  const ShardingRule& rule = s.rules.rule(id);
  if (rule.kind != ShardingRule::Kind::kFactors && !rule.why.empty()) return str_cat(called(n), ": ", rule.why);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const Placement& p = s.base[s.at(n.inputs[i])];
    if (!p.is_shard()) continue;
    const bool has_dims = rule.kind == ShardingRule::Kind::kFactors && i < rule.inputs.size() &&
                          rule.inputs[i].kind == OperandRule::Kind::kDims;
    return str_cat(called(n), has_dims ? " cannot be sharded along dimension " : " reads all of input ",
                   has_dims ? int{p.dim} : static_cast<int>(i), has_dims ? str_cat(" of input ", i) : "");
  }
  return str_cat(called(n), " is not linear in its inputs");
}

std::string why_needed(const AxisState& s, Graph::Use use, const Placement& from, const Placement& to) {
  if (use.node == kFetch) return "it is fetched";
  const Node& n = s.graph.node(use.node);
  const ShardingRule& rule = s.rules.rule(use.node);
  const NodeSharding& sharding = s.sharding[static_cast<std::size_t>(use.node.index)];
  if (from.kind == Placement::Kind::kOnce) return str_cat(called(n), " reads it on every device");
  if (from.is_local() && to.is_partial())
    return str_cat(called(n), " adds up what shards have, by their parts of the batch");
  if (to.is_local()) return str_cat(called(n), " is computed by each shard from its own statistics");
  if (to.is_partial()) return str_cat(called(n), " adds it to partial sums: it counts once");
  if (updates_something(rule)) {
    const Endpoint variable = n.inputs[static_cast<std::size_t>(rule.updates[0])];
    return str_cat(called(n), " updates '", s.graph.node(variable.node).name, "', which is ",
                   to_string(s.base[s.at(variable)]), " on every device");
  }
  if (sharding.kind == NodeSharding::Kind::kFactor) {
    const std::string& factor = rule.factors[static_cast<std::size_t>(sharding.index)].name;
    if (to.is_shard()) return str_cat(called(n), " is sharded along ", factor);
    return str_cat(called(n), " is sharded along ", factor, ", and each shard needs all of this input");
  }
  if (sharding.kind == NodeSharding::Kind::kLinear) return str_cat(called(n), " is linear in one input at a time");
  if (from.is_partial()) {
    if (rule.kind != ShardingRule::Kind::kFactors && !rule.why.empty()) return str_cat(called(n), ": ", rule.why);
    return str_cat(called(n), " is not linear in it");
  }
  return why_whole(s, use.node);
}

}  // namespace argosy
