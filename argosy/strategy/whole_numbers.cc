#include "argosy/strategy/whole_numbers.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "argosy/strategy/ancestors.h"
#include "argosy/strategy/branches.h"
#include "argosy/strategy/combination.h"
#include "argosy/strategy/examples_apart.h"
#include "argosy/strategy/frontier.h"
#include "argosy/strategy/loops.h"
#include "argosy/strategy/mean_gradients.h"
#include "argosy/strategy/varying.h"

namespace argosy {

namespace {

std::vector<Endpoint> values_of(const std::vector<Cut>& cuts) {
  std::vector<Endpoint> values;
  for (const Cut& c : cuts) values.push_back(c.value);
  return values;
}

// Where nodes stand in the graph's order.
std::vector<std::int32_t> positions_in(const std::vector<NodeId>& order) {
  std::vector<std::int32_t> found(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) found[order[i].index] = static_cast<std::int32_t>(i);
  return found;
}

// Numbers are cut one by one, first those that others may be computed from: what is computed from a sum of the whole
// batch and from a share's own is no part of a sum any more.
class Cutter {
 public:
  Cutter(const Graph& graph, const BatchAxes& axes, std::vector<Cut>& cuts) : graph_(graph), axes_(axes), cuts_(cuts) {}

  // False: there is none of which the batch's is not had already, or one of them would be a part of what is cut.
  bool add(std::vector<Cut> found) {
    std::erase_if(found, [&](const Cut& c) { return is_among(cuts_, c.value); });
    const auto is_part = [&](const Cut& c) { return reaches_a_cut(c.value); };
    if (found.empty() || std::any_of(found.begin(), found.end(), is_part)) return false;
    cuts_.insert(cuts_.end(), found.begin(), found.end());
    return true;
  }

 private:
  // By numbers alone.
  bool reaches_a_cut(Endpoint from) const {
    std::vector<char> seen(graph_.size(), 0);
    std::vector<NodeId> open{from.node};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const Graph::Use& use : uses_[id.index]) {
        const Endpoint out{use.node, 0};
        if (use.input < 0 || graph_.node(use.node).output_dtypes.empty() || axes_.axis(out) != BatchAxes::kNone)
          continue;
        if (is_among(cuts_, out)) return true;
        if (!std::exchange(seen[use.node.index], 1)) open.push_back(use.node);
      }
    }
    return false;
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const Graph::Uses uses_ = graph_.consumers();
  std::vector<Cut>& cuts_;
};

class Numbers {
 public:
  Numbers(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
          const std::vector<NodeId>& seeds)
      : graph_(graph), axes_(axes), losses_(losses), seeds_(seeds) {}

  Status cut_untrained(std::vector<Cut>& cuts) {
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    trained_ = on_gradient_paths(graph_, order_, losses_);
    return cut_all(cuts).status();
  }

  Result<std::vector<Cut>> find_trained(const std::vector<Cut>& before) {
    ARGOSY_ASSIGN_OR_RETURN(const auto numbers, numbers_beside_rows(graph_, axes_, losses_, values_of(before)));
    const auto is_error = [](const NumberBesideRows& number) { return !number.statistic; };
    if (std::none_of(numbers.begin(), numbers.end(), is_error)) return std::vector<Cut>();
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    trained_ = on_gradient_paths(graph_, order_, losses_);
    through_trained_ = true;
    divisions_ = divisions_of_means(graph_);
    depths_ = loop_depths(graph_, order_);
    branches_ = find_branches(graph_, order_).of;
    std::vector<Cut> cuts = before;
    ARGOSY_ASSIGN_OR_RETURN(const bool all, cut_all(cuts));
    if (!all) return std::vector<Cut>();
    return std::vector<Cut>(cuts.begin() + std::ssize(before), cuts.end());
  }

 private:
  // Whether all numbers beside rows are the whole batch's then.
  Result<bool> cut_all(std::vector<Cut>& cuts) {
    Cutter cutter(graph_, axes_, cuts);
    const std::vector<std::int32_t> position = positions_in(order_);
    std::set<Endpoint> left;
    // Rows that a number of these was subtracted from have other sums.
    for (;;) {
      const std::vector<Endpoint> whole = values_of(cuts);
      ARGOSY_ASSIGN_OR_RETURN(const auto numbers, numbers_beside_rows(graph_, axes_, losses_, whole));
      std::optional<Endpoint> first;
      for (const NumberBesideRows& number : numbers) {
        const Endpoint e = number.value;
        if (!left.contains(e) && (!first || position[e.node.index] < position[first->node.index])) first = e;
      }
      if (!first) return left.empty();
      ARGOSY_ASSIGN_OR_RETURN(const std::vector<char> mixed, find_mixed(graph_, axes_, losses_, seeds_, whole));
      const auto found = cuts_for(*first, whole, mixed);
      if (!found || !cutter.add(*found)) left.insert(*first);
    }
  }

  // What has to be cut for this number to be the whole batch's, if that can be done.
  std::optional<std::vector<Cut>> cuts_for(Endpoint number, std::span<const Endpoint> whole,
                                           std::span<const char> mixed) const {
    const Frontier frontier = find_frontier(graph_, axes_, number, {.whole = whole, .alike = true, .mixed = mixed});
    if (!frontier.why.empty() || !frontier.rows.empty()) return std::nullopt;
    std::vector<Cut> found;
    for (const Endpoint sum : frontier.sums) {
      if (axes_.counts_samples(sum)) {
        found.push_back({.value = sum, .how = Combine::kSum});
      } else if (!(trained_[sum.node.index] ? add_trained(sum, whole, found) : add_untrained(sum, whole, found))) {
        return std::nullopt;
      }
    }
    return found;
  }

  bool add_untrained(Endpoint sum, std::span<const Endpoint> whole, std::vector<Cut>& found) const {
    const Combination c = combination_of(graph_, axes_, sum, whole);
    if ((c.how != Combine::kSum && c.how != Combine::kMean) || !c.once.empty()) return false;
    found.push_back({.value = sum, .how = c.how});
    return true;
  }

  // Means themselves, not what is computed from them: their gradients divide by how many there are.
  bool add_trained(Endpoint sum, std::span<const Endpoint> whole, std::vector<Cut>& found) const {
    if (!through_trained_) return false;
    const std::vector<Term> terms = terms_of(graph_, axes_, sum, whole);
    for (const Term& t : terms) {
      const NodeId id = t.value.node;
      const bool adds_up = t.combination.how == Combine::kSum && t.combination.once.empty();
      const bool averages = t.combination.how == Combine::kMean && divisions_.contains(id);
      if ((!adds_up && !averages) || depths_[id.index] > 0 || branches_[id.index] > 0) return false;
      found.push_back({.value = t.value, .how = t.combination.how});
    }
    return !terms.empty();
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const std::vector<NodeId>& losses_;
  const std::vector<NodeId>& seeds_;
  std::vector<NodeId> order_;
  std::vector<char> trained_;  // by node
  // Of numbers that are trained through.
  bool through_trained_ = false;
  std::map<NodeId, std::vector<NodeId>> divisions_;
  std::vector<int> depths_, branches_;  // by node
};

// What comes back to a mean, where it is spread over the rows that the mean was made of.
Endpoint before_rows(const Graph& graph, const BatchAxes& axes, NodeId division) {
  Endpoint e = graph.node(division).inputs[0];
  while (axes.axis(e) != BatchAxes::kNone && !graph.node(e.node).inputs.empty()) e = graph.node(e.node).inputs[0];
  return e;
}

Status refuse(const Node& n) {
  return unimplemented("'", n.name, "' (", n.op->name,
                       ") is made of several examples, and gradients of rows are computed with it")
      .with_id("ARG-DP-007")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_next("train on one device: shares of the batch know only themselves");
}

}  // namespace

Status cut_untrained_numbers(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                             const std::vector<NodeId>& seeds, std::vector<Cut>& cuts) {
  return Numbers(graph, axes, losses, seeds).cut_untrained(cuts);
}

Result<std::vector<Cut>> find_trained_numbers(const Graph& graph, const BatchAxes& axes,
                                              const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds,
                                              const std::vector<Cut>& cuts) {
  return Numbers(graph, axes, losses, seeds).find_trained(cuts);
}

Status cut_gradients_of_numbers(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& train,
                                const std::vector<NodeId>& seeds, std::vector<Cut>& cuts) {
  const std::vector<char> gradient = descendants(graph, seeds);
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const std::vector<std::int32_t> position = positions_in(order);
  // A share's part of the loss's own seed is a part of a sum as well, where it comes back to one of these means.
  std::vector<Endpoint> of_means;
  for (const auto& [mean, divisions] : divisions_of_means(graph)) {
    if (!is_among(cuts, {mean, 0})) continue;
    for (const NodeId division : divisions) {
      if (gradient[division.index]) of_means.push_back(before_rows(graph, axes, division));
    }
  }
  Cutter cutter(graph, axes, cuts);
  for (;;) {
    const std::vector<Endpoint> whole = values_of(cuts);
    Varying varies(graph, axes, whole);
    ARGOSY_ASSIGN_OR_RETURN(std::vector<Endpoint> numbers, gradients_beside_rows(graph, axes, train, seeds, whole));
    std::copy_if(of_means.begin(), of_means.end(), std::back_inserter(numbers), std::ref(varies));
    const auto first = std::min_element(numbers.begin(), numbers.end(), [&](Endpoint a, Endpoint b) {
      return position[a.node.index] < position[b.node.index];
    });
    if (first == numbers.end()) return ok_status();
    const Frontier frontier =
        find_frontier(graph, axes, *first, {.sums_only = true, .whole = whole, .gradients = gradient});
    std::vector<Cut> found;
    for (const Endpoint sum : frontier.sums) found.push_back({.value = sum, .how = Combine::kSum});
    const bool is_made_of_sums = frontier.why.empty() && frontier.rows.empty();
    if (!is_made_of_sums || !cutter.add(std::move(found))) return refuse(graph.node(first->node));
  }
}

}  // namespace argosy
