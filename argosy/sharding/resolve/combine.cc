#include "argosy/sharding/resolve/combine.h"

#include <algorithm>
#include <optional>

#include "argosy/sharding/resolve/reasons.h"

namespace argosy {

namespace {

// Flags by output: partial sums that become a shard's own (L), further down perhaps.
std::vector<char> sums_of_own(const AxisState& s) {
  std::vector<char> own(s.sizes.index().size(), 0);
  if (s.request.local.gradients.empty()) return own;
  const auto& order = s.sizes.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!s.takes_own(*id)) continue;
    const Node& n = s.graph.node(*id);
    bool leads = false;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) leads = leads || own[s.at(Endpoint{*id, k})] != 0;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Placement& need = s.need[s.at(Graph::Use{*id, static_cast<int>(i)})];
      if (need.is_local() || (leads && need.is_partial())) own[s.at(n.inputs[i])] = 1;
    }
  }
  return own;
}

}  // namespace

bool combine_for_all(AxisState& s) {
  bool fresh = false;
  const std::vector<char> own = sums_of_own(s);
  const auto combine = [&](Endpoint e, Graph::Use by) {
    const std::size_t at = s.at(e);
    const bool open = s.base[at].is_partial() ||
                      (s.base[at].kind == Placement::Kind::kOnce && !holds_state(s.graph, e) && by.node != kFetch);
    if (!open || own[at] != 0 || s.seed[at] != nullptr || s.combined[at].yes()) return;
    s.combined[at].why = why_needed(s, by, s.base[at], Placement::replicate());
    fresh = true;
  };
  for (const NodeId id : s.sizes.order()) {
    const Node& n = s.graph.node(id);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Graph::Use use{id, static_cast<int>(i)};
      if (s.given[static_cast<std::size_t>(id.index)] == 0 && s.need[s.at(use)].is_replicate())
        combine(n.inputs[i], use);
    }
  }
  for (std::size_t f = 0; f < s.request.fetches.size(); ++f) {
    combine(s.request.fetches[f], {kFetch, static_cast<int>(f)});
  }
  return fresh;
}

namespace {

// For each partial value, the cost of the combinations downstream that combining the value itself would make
// unnecessary: those that are reached through nodes with no other partial input.
class Below {
 public:
  explicit Below(AxisState& state)
      : s_(state), own_(sums_of_own(state)), cost_(state.sizes.index().size(), 0), first_(state.sizes.index().size()) {}

  bool move_up() {
    const auto& order = s_.sizes.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      for (std::int32_t k = 0; k < std::ssize(s_.graph.node(*id).output_dtypes); ++k) weigh({*id, k});
    }
    bool moved = false;
    std::vector<char> covered(cost_.size(), 0);  // by output: a value above it is combined now
    for (const NodeId id : order) {
      const auto from = source(id);
      for (std::int32_t k = 0; k < std::ssize(s_.graph.node(id).output_dtypes); ++k) {
        const Endpoint e{id, k};
        const std::size_t at = s_.at(e);
        if (from && covered[s_.at(*from)] != 0) covered[at] = 1;
        if (covered[at] != 0 || !open(e) || cost_[at] <= s_.all_reduce(e)) continue;
        s_.combined[at].why = first_[at] + "; it is smaller here";
        covered[at] = 1;
        moved = true;
      }
    }
    return moved;
  }

 private:
  bool open(Endpoint e) const {
    const std::size_t at = s_.at(e);
    return s_.made[at].is_partial() && own_[at] == 0 && s_.seed[at] == nullptr && !s_.combined[at].yes();
  }

  // Returns the only partial input of a node that passes it on; nullopt: there is none, or more than one.
  std::optional<Endpoint> source(NodeId id) const {
    const Node& n = s_.graph.node(id);
    const NodeSharding::Kind kind = s_.sharding[static_cast<std::size_t>(id.index)].kind;
    if (kind != NodeSharding::Kind::kLinear && kind != NodeSharding::Kind::kMonotone &&
        kind != NodeSharding::Kind::kPass)
      return std::nullopt;
    std::optional<Endpoint> found;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const bool passes = s_.need[s_.at(Graph::Use{id, static_cast<int>(i)})].is_partial();
      if (!passes || !s_.base[s_.at(n.inputs[i])].is_partial()) continue;
      if (found && *found != n.inputs[i]) return std::nullopt;
      found = n.inputs[i];
    }
    return found;
  }

  void weigh(Endpoint e) {
    const std::size_t at = s_.at(e);
    if (!s_.made[at].is_partial()) return;
    if (s_.combined[at].yes()) {
      cost_[at] = s_.all_reduce(e);
      first_[at] = s_.combined[at].why;
      return;
    }
    bool scattered = false;
    std::vector<NodeId> seen;
    for (const Graph::Use& use : s_.uses[e.node.index]) {
      if (use.input < 0 || s_.graph.node(use.node).inputs[static_cast<std::size_t>(use.input)] != e) continue;
      if (s_.need[s_.at(use)].is_shard()) {
        scattered = true;
        if (first_[at].empty()) first_[at] = why_needed(s_, use, s_.base[at], s_.need[s_.at(use)]);
      }
      if (source(use.node) != e || std::find(seen.begin(), seen.end(), use.node) != seen.end()) continue;
      seen.push_back(use.node);
      for (std::int32_t k = 0; k < std::ssize(s_.graph.node(use.node).output_dtypes); ++k) {
        const std::size_t below = s_.at(Endpoint{use.node, k});
        if (cost_[below] == 0) continue;
        cost_[at] += std::min(cost_[below], s_.all_reduce({use.node, k}));
        if (first_[at].empty()) first_[at] = first_[below];
      }
    }
    if (scattered) cost_[at] += s_.all_reduce(e) / 2;
  }

  AxisState& s_;
  const std::vector<char> own_;     // by output: as sums_of_own()
  std::vector<double> cost_;        // by output: bytes of the combinations below
  std::vector<std::string> first_;  // by output: why the first of them is needed
};

}  // namespace

bool move_combinations_up(AxisState& state) { return Below(state).move_up(); }

}  // namespace argosy
