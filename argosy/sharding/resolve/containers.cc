#include "argosy/sharding/resolve/containers.h"

#include <algorithm>
#include <utility>

namespace argosy {

namespace {

// Makes a container of its own: state that lives behind a handle, and that no rule knows.
bool may_make(const Graph& graph, const Sizes& sizes, const RuleTable& rules, NodeId id) {
  const Node& n = graph.node(id);
  if (!n.op->stateful || n.output_dtypes.empty() || graph.dtype({id, 0}) != DType::kResource) return false;
  const auto takes_handle = [&](Endpoint e) { return graph.dtype(e) == DType::kResource; };
  return rules.rule(id).kind == ShardingRule::Kind::kWhole && sizes.handle({id, 0}) != nullptr && !n.inputs.empty() &&
         std::none_of(n.inputs.begin(), n.inputs.end(), takes_handle);
}

// The rule says of the handle what an element is.
bool knows_elements(const RuleTable& rules, const Node& n, Graph::Use use) {
  if (passes_on(*n.op)) return true;
  const ShardingRule& rule = rules.rule(use.node);
  return rule.kind == ShardingRule::Kind::kFactors && rule.updates.empty() &&
         rule.inputs[static_cast<std::size_t>(use.input)].kind == OperandRule::Kind::kDims;
}

}  // namespace

Containers::Containers(const Graph& graph, const Sizes& sizes, const RuleTable& rules)
    : index_(sizes.index()), of_(sizes.index().size(), -1), makers_(static_cast<std::size_t>(graph.size()), 0) {
  const auto uses = graph.consumers();
  std::vector<NodeId> makers;
  std::vector<char> known;
  for (const NodeId id : sizes.order()) {
    const Node& n = graph.node(id);
    if (may_make(graph, sizes, rules, id)) {
      of_[index_(Endpoint{id, 0})] = static_cast<int>(makers.size());
      makers.push_back(id);
      known.push_back(1);
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const int container = behind(n.inputs[i]);
      if (container < 0) continue;
      if (!knows_elements(rules, n, {id, static_cast<int>(i)})) known[static_cast<std::size_t>(container)] = 0;
      for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
        if (graph.dtype({id, k}) == DType::kResource) of_[index_(Endpoint{id, k})] = container;
      }
    }
  }
  all_.resize(makers.size());
  for (int& container : of_) {
    if (container >= 0 && known[static_cast<std::size_t>(container)] == 0) container = -1;
  }
  for (std::size_t c = 0; c < makers.size(); ++c) {
    makers_[static_cast<std::size_t>(makers[c].index)] = known[c];
  }
}

void Containers::put(int container, const Placement& p) {
  Container& c = all_[static_cast<std::size_t>(container)];
  if (!p.is_shard() || c.whole || c.elements.is_shard()) return;
  c.elements = p;
  news_ = true;
}

void Containers::replicate(int container) {
  Container& c = all_[static_cast<std::size_t>(container)];
  if (c.whole) return;
  c = {.elements = Placement::replicate(), .whole = true};
  news_ = true;
}

bool Containers::take_news() { return std::exchange(news_, false); }

}  // namespace argosy
