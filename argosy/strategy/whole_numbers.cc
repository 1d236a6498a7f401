#include "argosy/strategy/whole_numbers.h"

#include <algorithm>

#include "argosy/strategy/combination.h"
#include "argosy/strategy/examples_apart.h"
#include "argosy/strategy/frontier.h"
#include "argosy/strategy/mean_gradients.h"

namespace argosy {

namespace {

// What has to be cut for this number to be the whole batch's; empty where that cannot be done.
std::vector<Cut> cuts_for(const Graph& graph, const BatchAxes& axes, Endpoint number, std::span<const Endpoint> whole,
                          std::span<const char> mixed, const std::vector<char>& trained) {
  const Frontier frontier = find_frontier(graph, axes, number, {.whole = whole, .alike = true, .mixed = mixed});
  if (!frontier.why.empty() || !frontier.rows.empty()) return {};
  std::vector<Cut> found;
  for (const Endpoint sum : frontier.sums) {
    const Combination c = combination_of(graph, axes, sum, whole);
    const bool counts = axes.counts_samples(sum);
    const bool known = counts || c.how == Combine::kSum || c.how == Combine::kMean;
    if (trained[sum.node.index] || !known || !c.once.empty()) return {};
    found.push_back({.value = sum, .how = counts ? Combine::kSum : c.how});
  }
  return found;
}

}  // namespace

Status cut_untrained_numbers(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                             const std::vector<NodeId>& seeds, std::vector<Cut>& cuts) {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const std::vector<char> trained = on_gradient_paths(graph, order, losses);
  // Rows that a number of these was subtracted from have other sums: so once more, until there are no new ones.
  for (bool again = true; again;) {
    again = false;
    std::vector<Endpoint> whole;
    for (const Cut& c : cuts) whole.push_back(c.value);
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<char> mixed, find_mixed(graph, axes, losses, seeds, whole));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Endpoint> numbers, numbers_beside_rows(graph, axes, losses, whole));
    for (const Endpoint number : numbers) {
      for (const Cut& c : cuts_for(graph, axes, number, whole, mixed, trained)) {
        if (is_among(cuts, c.value)) continue;
        cuts.push_back(c);
        again = true;
      }
    }
  }
  return ok_status();
}

}  // namespace argosy
