#include "argosy/sharding/resolve/propagate.h"

#include <algorithm>
#include <optional>

#include "argosy/sharding/resolve/node_shardings.h"

namespace argosy {

namespace {

class Spread {
 public:
  explicit Spread(AxisState& state) : s_(state), need_(state.need), fetched_(state.sizes.index().size(), 0) {
    for (const Endpoint e : s_.request.fetches) fetched_[s_.at(e)] = 1;
  }

  bool run() {
    const auto& order = s_.sizes.order();
    bool fresh = false;
    for (auto id = order.rbegin(); id != order.rend(); ++id) fresh = spread(*id) || fresh;
    return fresh;
  }

 private:
  // Returns the shard that all users need; R if no user reads the elements. nullopt: they disagree, or it is fetched.
  std::optional<Placement> needed(Endpoint e) const {
    Placement all = Placement::replicate();
    for (const Graph::Use& use : s_.uses[e.node.index]) {
      if (use.input < 0) continue;
      if (s_.graph.node(use.node).inputs[static_cast<std::size_t>(use.input)] != e) continue;
      const ShardingRule& rule = s_.rules.rule(use.node);
      const bool shape_only = rule.kind == ShardingRule::Kind::kFactors &&
                              rule.inputs[static_cast<std::size_t>(use.input)].kind == OperandRule::Kind::kShapeOnly;
      if (shape_only || goes_anywhere(use)) continue;
      const Placement& p = need_[s_.at(use)];
      if (!p.is_shard() || (all.is_shard() && p != all)) return std::nullopt;
      all = p;
    }
    return fetched_[s_.at(e)] != 0 ? std::nullopt : std::optional(all);
  }

  // True if the use puts the value into a container whose placement is not fixed yet.
  bool goes_anywhere(Graph::Use use) const {
    const Endpoint first = s_.graph.node(use.node).inputs[0];
    const int container = s_.containers.behind(first);
    return use.input > 0 && container >= 0 && !s_.containers.is_decided(container);
  }

  // Withdraws the node's wishes for good, if they are no longer what all users need. True if it did.
  bool take_back(NodeId id) {
    bool all_needed = true, any = false;
    const auto outputs = std::ssize(s_.graph.node(id).output_dtypes);
    for (std::int32_t k = 0; k < outputs; ++k) {
      const Placement& wish = s_.wish[s_.at(Endpoint{id, k})];
      any = any || wish.is_shard();
      all_needed = all_needed && needed({id, k}) == wish;
    }
    if (!any || all_needed) return false;
    for (std::int32_t k = 0; k < outputs; ++k) s_.wish[s_.at(Endpoint{id, k})] = Placement::replicate();
    s_.no_wish[static_cast<std::size_t>(id.index)] = 1;
    return true;
  }

  bool spread(NodeId id) {
    const Node& n = s_.graph.node(id);
    const auto node = static_cast<std::size_t>(id.index);
    if (take_back(id)) return true;
    const ShardingRule& rule = s_.rules.rule(id);
    const NodeSharding::Kind kind = s_.sharding[node].kind;
    const bool whole =
        kind == NodeSharding::Kind::kWhole || (kind == NodeSharding::Kind::kOnce && s_.is_random[node] != 0);
    // A gradient of a shard's own statistics is spread over the rows on its way to them: by that shard.
    const bool own = kind == NodeSharding::Kind::kLinear && s_.takes_own(id);
    const bool open = (whole || own) && s_.given[node] == 0 && s_.whole[node] == 0 && s_.no_wish[node] == 0 &&
                      rule.kind == ShardingRule::Kind::kFactors && rule.updates.empty();
    if (!open) return false;
    std::vector<Placement> wishes, in;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const auto all = needed({id, k});
      if (!all || s_.seed[s_.at(Endpoint{id, k})] != nullptr) return false;
      wishes.push_back(*all);
    }
    if (std::none_of(wishes.begin(), wishes.end(), [](const Placement& p) { return p.is_shard(); })) return false;
    for (const Endpoint e : n.inputs) {
      in.push_back(s_.base[s_.at(e)]);
      if (!in.back().is_replicate() && !own) return false;  // the forward sweep has reasons
    }
    const std::vector<char> known(in.size(), 1);
    std::vector<Choice> shardings;
    list_shardings({.op = n.op,
                    .rule = &rule,
                    .is_random = s_.is_random[node] != 0,
                    .keeps_local = s_.keeps_local(id),
                    .takes_own = s_.takes_own(id),
                    .inputs = in,
                    .known = known,
                    .wishes = wishes,
                    .limit = s_.sizes.follows_batch(s_.sizes.nominal()) ? s_.sizes.nominal() : 0},
                   shardings);
    for (const Choice& c : shardings) {
      if (c.sharding.kind != NodeSharding::Kind::kFactor ||
          !std::equal(wishes.begin(), wishes.end(), c.outputs.begin()))
        continue;
      const auto free = [&](const Placement& p) { return p.is_replicate() || p.is_shard() || (own && p.is_local()); };
      if (!std::all_of(c.inputs.begin(), c.inputs.end(), free)) continue;
      bool fresh = false;
      for (std::size_t k = 0; k < wishes.size(); ++k) {
        Placement& wish = s_.wish[s_.at(Endpoint{id, static_cast<std::int32_t>(k)})];
        fresh = fresh || wish != wishes[k];
        wish = wishes[k];
      }
      for (std::size_t i = 0; i < n.inputs.size(); ++i) need_[s_.at(Graph::Use{id, static_cast<int>(i)})] = c.inputs[i];
      return fresh;
    }
    return false;
  }

  AxisState& s_;
  std::vector<Placement> need_;  // by input, with the wishes of this sweep
  std::vector<char> fetched_;    // by output
};

}  // namespace

bool spread_wishes(AxisState& state) { return Spread(state).run(); }

}  // namespace argosy
