#include "argosy/sharding/resolve/containers.h"

#include <algorithm>
#include <utility>

namespace argosy {

namespace {

bool is_list(DType d) { return d == DType::kVariant; }
bool is_handle(DType d) { return d == DType::kResource || is_list(d); }

// True if the node makes a new container: a list, or state behind a handle.
bool may_make(const Graph& graph, const Sizes& sizes, NodeId id) {
  const Node& n = graph.node(id);
  if (n.inputs.empty() || n.output_dtypes.empty() || sizes.handle({id, 0}) == nullptr) return false;
  const DType made = graph.dtype({id, 0});
  if (n.op->stateful ? made != DType::kResource : !is_list(made)) return false;
  return std::none_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return is_handle(graph.dtype(e)); });
}

// True if the rule of the user says what an element behind this handle is.
bool knows_elements(const RuleTable& rules, const Node& n, Graph::Use use) {
  if (passes_on(*n.op)) return true;
  const ShardingRule& rule = rules.rule(use.node);
  return rule.kind == ShardingRule::Kind::kFactors && rule.updates.empty() &&
         rule.inputs[static_cast<std::size_t>(use.input)].kind == OperandRule::Kind::kDims;
}

}  // namespace

int Containers::Found::of(int container) const {
  while (part_of[static_cast<std::size_t>(container)] != container) {
    container = part_of[static_cast<std::size_t>(container)];
  }
  return container;
}

void Containers::Found::unite(int a, int b) {
  a = of(a), b = of(b);
  const auto first = static_cast<std::size_t>(std::min(a, b)), second = static_cast<std::size_t>(std::max(a, b));
  part_of[second] = static_cast<int>(first);
  known[first] = known[first] != 0 && known[second] != 0 ? 1 : 0;
}

void Containers::visit(const Graph& graph, const Sizes& sizes, const RuleTable& rules, NodeId id, Found& found) {
  const Node& n = graph.node(id);
  const auto kind = rules.rule(id).kind;
  const bool fills = kind == ShardingRule::Kind::kFactors;  // with elements of its own
  const bool list = !n.output_dtypes.empty() && is_list(n.output_dtypes[0]);
  const bool ruled = kind == ShardingRule::Kind::kWhole || (fills && list);
  if (ruled && may_make(graph, sizes, id) && !passes_on(*n.op)) {
    const int made = static_cast<int>(found.part_of.size());
    of_[index_(Endpoint{id, 0})] = made;
    found.part_of.push_back(made);
    found.known.push_back(1);
    found.list.push_back(list ? 1 : 0);
    makers_[static_cast<std::size_t>(id.index)] = fills ? 0 : 1;
  }
  int first = -1;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const int container = behind(n.inputs[i]);
    if (container < 0) continue;
    const auto at = static_cast<std::size_t>(found.of(container));
    if (!knows_elements(rules, n, {id, static_cast<int>(i)})) found.known[at] = 0;
    if (first < 0) first = container;
    if (found.list[at] != 0 && found.list[static_cast<std::size_t>(found.of(first))] != 0)
      found.unite(first, container);
  }
  for (std::int32_t k = 0; first >= 0 && k < std::ssize(n.output_dtypes); ++k) {
    const DType held = found.list[static_cast<std::size_t>(first)] != 0 ? DType::kVariant : DType::kResource;
    if (graph.dtype({id, k}) == held) of_[index_(Endpoint{id, k})] = first;
  }
}

Containers::Containers(const Graph& graph, const Sizes& sizes, const RuleTable& rules)
    : index_(sizes.index()), of_(sizes.index().size(), -1), makers_(static_cast<std::size_t>(graph.size()), 0) {
  Found found;
  for (const NodeId id : sizes.order()) visit(graph, sizes, rules, id, found);
  for (const NodeId id : sizes.order()) {  // what a loop brings round
    const Node& n = graph.node(id);
    if (n.op->flow != Flow::kMerge || behind({id, 0}) < 0) continue;
    for (const Endpoint e : n.inputs) {
      if (behind(e) >= 0) found.unite(behind({id, 0}), behind(e));
      if (behind(e) < 0) found.known[static_cast<std::size_t>(found.of(behind({id, 0})))] = 0;
    }
  }
  all_.resize(found.part_of.size());
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    for (std::int32_t k = 0; k < std::ssize(graph.node(NodeId{i}).output_dtypes); ++k) {
      int& container = of_[index_(Endpoint{NodeId{i}, k})];
      if (container < 0) continue;
      container = found.of(container);
      const auto at = static_cast<std::size_t>(container);
      if (found.known[at] != 0) continue;
      if (makers_[static_cast<std::size_t>(i)] != 0) makers_[static_cast<std::size_t>(i)] = 0;
      if (found.list[at] != 0) {
        all_[at].whole = true;  // a list is a value: it could be sharded by the rules of those who make it
      } else {
        container = -1;
      }
    }
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
