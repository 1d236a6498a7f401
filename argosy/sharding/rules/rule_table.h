// The sharding rules of all nodes of a graph. Nodes with equal op, attributes, shapes and known integers share one.
// Immutable; threads may share it.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

class RuleTable {
 public:
  using RuleOf = std::function<Result<ShardingRule>(const ShapeContext&)>;
  // Makes the rules at the nominal batch size of `sizes`. `rule_of` returns the rule of a node; tests pass their own.
  // An error names the node, and is a bug in a rule.
  static Result<RuleTable> make(const Graph& graph, const Sizes& sizes, const RuleOf& rule_of = sharding_rule);

  const ShardingRule& rule(NodeId id) const { return rules_[rule_of_[static_cast<std::size_t>(id.index)]]; }
  std::size_t distinct() const { return rules_.size(); }

 private:
  std::deque<ShardingRule> rules_;
  std::vector<std::size_t> rule_of_;  // by node
};

// True for control flow that passes its inputs on: Switch, Merge, Enter, Exit, NextIteration. All data inputs and
// outputs of such a node have the same placement. It may be any.
bool passes_on(const OpDef& op);
// True if input `input` of such a node is data: all but the predicate of a Switch.
bool is_passed_on(const OpDef& op, int input);

}  // namespace argosy
