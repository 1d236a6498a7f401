#include "argosy/strategy/analysis/dataflow_branches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace argosy {

namespace {

// The Switch outputs, by predicate, that every path to a node comes through.
using Ways = std::set<std::pair<Endpoint, int>>;

}  // namespace

Branches find_branches(const Graph& graph, const std::vector<NodeId>& order) {
  Branches found{.of = std::vector<int>(graph.size(), 0), .predicates = {}};
  std::vector<int>& branches = found.of;
  std::vector<Ways> known{{}};
  std::map<Ways, int> numbers{{{}, 0}};
  const auto ways_to = [&](Endpoint e) {
    Ways ways = known[branches[e.node.index]];
    const Node& from = graph.node(e.node);
    // A loop's outputs are in the branch of its inputs, however often it iterates.
    const bool loops = from.op->flow == Flow::kSwitch && graph.node(from.inputs[1].node).op->flow == Flow::kLoopCond;
    if (from.op->flow == Flow::kSwitch && !loops) ways.insert({from.inputs[1], e.index});
    return ways;
  };
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    Ways ways;
    std::optional<Ways> common;  // of a Merge, which runs whichever input came
    for (const Endpoint e : n.inputs) {
      const Ways to = ways_to(e);
      ways.insert(to.begin(), to.end());
      Ways both;
      if (common) {
        std::set_intersection(common->begin(), common->end(), to.begin(), to.end(), std::inserter(both, both.end()));
      }
      common = common ? std::move(both) : to;
    }
    if (n.op->flow == Flow::kMerge && common) ways = *std::move(common);
    for (const NodeId c : n.controls) ways.insert(known[branches[c.index]].begin(), known[branches[c.index]].end());
    if (ways.empty()) continue;
    const auto [number, fresh] = numbers.emplace(std::move(ways), static_cast<int>(known.size()));
    if (fresh) known.push_back(number->first);
    branches[id.index] = number->second;
  }
  for (const Ways& ways : known) {
    std::vector<Endpoint>& predicates = found.predicates.emplace_back();
    for (const auto& [predicate, output] : ways) predicates.push_back(predicate);
  }
  return found;
}

}  // namespace argosy
