#include "argosy/sharding/resolve/forward.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "argosy/sharding/reshard/redistribution.h"
#include "argosy/sharding/resolve/node_shardings.h"

namespace argosy {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kTimesRound = 4;  // how often the layout of what a loop carries may change before it is replicated

// The price of a sharding, compared in this order: bytes that its reshards move, unmet wishes, inputs that change.
using Price = std::tuple<double, int, int>;

class Sweep {
 public:
  explicit Sweep(AxisState& state) : s_(state), had_(state.sizes.index().size()) {}

  Status run(std::vector<char>& known) {
    for (const NodeId id : s_.sizes.order()) {
      ARGOSY_RETURN_IF_ERROR(decide(id, known));
      const Node& n = s_.graph.node(id);
      for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
        const int container = s_.containers.behind({id, k});
        known[s_.at(Endpoint{id, k})] = container < 0 || s_.containers.is_decided(container) ? 1 : 0;
      }
    }
    return ok_status();
  }
  bool again() const { return again_; }  // a node before one that was decided has to be decided anew

 private:
  Status decide(NodeId id, const std::vector<char>& known) {
    const Node& n = s_.graph.node(id);
    const auto node = static_cast<std::size_t>(id.index);
    if (s_.given[node] != 0) {
      const Seed* const seed = s_.seed[s_.at(Endpoint{id, 0})];
      s_.sharding[node] = {NodeSharding::Kind::kGiven};
      set_output({id, 0}, seed != nullptr ? seed->placement : Placement::replicate());
      return ok_status();
    }
    if (s_.containers.makes(id)) {
      make_container(id);
      return ok_status();
    }
    in_.clear(), known_.clear(), wishes_.clear(), shardings_.clear();
    for (const Endpoint e : n.inputs) {
      in_.push_back(s_.base[s_.at(e)]);
      known_.push_back(known[s_.at(e)]);
    }
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) wishes_.push_back(s_.wish[s_.at(Endpoint{id, k})]);
    if (n.op->flow == Flow::kNextIteration) wishes_[0] = wanted_by_merge(id);
    list_shardings({.op = n.op,
                    .rule = &s_.rules.rule(id),
                    .is_random = s_.is_random[node] != 0,
                    .keeps_local = s_.keeps_local(id),
                    .takes_own = s_.takes_own(id),
                    .inputs = in_,
                    .known = known_,
                    .wishes = wishes_,
                    .limit = s_.sizes.follows_batch(s_.sizes.nominal()) ? s_.sizes.nominal() : 0},
                   shardings_);
    if (s_.whole[node] != 0) shardings_.resize(1);
    const Choice* best = nullptr;
    Price least{kNever, 0, 0};
    for (const Choice& c : shardings_) {
      const Price price = price_of(id, c);
      if (price >= least) continue;
      least = price;
      best = &c;
    }
    if (best != nullptr) {
      take(id, *best);
    } else if (!without_scratch(id) && !without_shards(id)) {
      return no_way(id);
    }
    return ok_status();
  }

  // Returns the placement that the loop's Merge has. A NextIteration must give it, since no reshard can follow it.
  Placement wanted_by_merge(NodeId next) const {
    for (const Graph::Use& use : s_.uses[next.index]) {
      if (use.input >= 0 && s_.graph.node(use.node).op->flow == Flow::kMerge)
        return s_.made[s_.at(Endpoint{use.node, 0})];
    }
    return Placement::replicate();
  }

  void make_container(NodeId id) {
    const Node& n = s_.graph.node(id);
    s_.sharding[static_cast<std::size_t>(id.index)] = {NodeSharding::Kind::kMakes};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      s_.need[s_.at(Graph::Use{id, static_cast<int>(i)})] = Placement::replicate();
    }
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const int container = s_.containers.behind({id, k});
      set_output({id, k}, container < 0 ? Placement::replicate() : s_.containers.elements(container));
    }
  }

  // For a node that no sharding fits: replicates the sharded elements of its containers. True if there are any.
  bool without_shards(NodeId id) {
    bool any = false;
    for (const Endpoint e : s_.graph.node(id).inputs) {
      const int container = s_.containers.behind(e);
      if (container < 0 || !s_.containers.elements(container).is_shard()) continue;
      s_.containers.replicate(container);
      any = true;
    }
    again_ = again_ || any;
    return any;
  }

  // For a node that no sharding fits: computes whole the nodes whose scratch it reads. True if there are any.
  bool without_scratch(NodeId id) {
    bool any = false;
    for (const Endpoint e : s_.graph.node(id).inputs) {
      char& whole = s_.whole[static_cast<std::size_t>(e.node.index)];
      if (s_.base[s_.at(e)].kind != Placement::Kind::kVarying || whole != 0) continue;
      whole = 1;
      any = true;
    }
    again_ = again_ || any;
    return any;
  }

  Price price_of(NodeId id, const Choice& c) const {
    const Node& n = s_.graph.node(id);
    double bytes = 0;
    int changed = 0, unmet = 0;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (known_[i] == 0 || in_[i] == c.inputs[i]) continue;
      ++changed;
      bytes += change(id, static_cast<int>(i), c.inputs[i]);
    }
    for (std::size_t k = 0; k < c.outputs.size(); ++k) {
      const int list = list_of({id, static_cast<std::int32_t>(k)});
      if (list >= 0 && s_.containers.is_decided(list) && c.outputs[k] != s_.containers.elements(list)) bytes = kNever;
      if (wishes_[k].is_shard() && c.outputs[k] != wishes_[k]) ++unmet;
      // Sums of maxima are not maxima of sums: a value is partial in one way.
      const Placement& other = s_.elsewhere[s_.at(Endpoint{id, static_cast<std::int32_t>(k)})];
      if (other.is_partial() && c.outputs[k].is_partial() && other != c.outputs[k]) bytes = kNever;
    }
    return {bytes, unmet, changed};
  }

  double change(NodeId id, int input, const Placement& to) const {
    const Node& n = s_.graph.node(id);
    const Endpoint e = n.inputs[static_cast<std::size_t>(input)];
    const Placement& from = in_[static_cast<std::size_t>(input)];
    const ShardingRule& rule = s_.rules.rule(id);
    if (std::find(rule.updates.begin(), rule.updates.end(), input) != rule.updates.end()) return kNever;
    if (holds_state(s_.graph, e) || takes_reference(s_.graph, n, input)) {
      // Whoever has a copy of the state, or may ask the device that has it, needs nothing.
      const auto common = [](const Placement& p) { return p.is_replicate() || p.kind == Placement::Kind::kOnce; };
      return common(from) && common(to) ? 0 : kNever;
    }
    const auto& had = had_[s_.at(e)];
    const auto has = [&](const Placement& p) { return std::find(had.begin(), had.end(), p) != had.end(); };
    if (has(to) || (to.is_shard() && has(Placement::replicate()))) return 0;
    Redistribution how = redistribution(from, to);
    if (how == Redistribution::kImpossible) return kNever;
    // What follows an all-to-all is rarely cheaper than what follows a gather, which others may share.
    if (how == Redistribution::kAllToAll) how = Redistribution::kAllGather;
    return bytes_moved(how, s_.priced, s_.bytes[s_.at(e)]);
  }

  void take(NodeId id, const Choice& c) {
    const Node& n = s_.graph.node(id);
    s_.sharding[static_cast<std::size_t>(id.index)] = c.sharding;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      s_.need[s_.at(Graph::Use{id, static_cast<int>(i)})] = c.inputs[i];
      if (const int container = s_.containers.behind(n.inputs[i]); container >= 0) {
        s_.containers.put(container, c.inputs[i]);
      }
      if (known_[i] != 0 && in_[i] != c.inputs[i]) had_[s_.at(n.inputs[i])].push_back(c.inputs[i]);
    }
    for (std::size_t k = 0; k < c.outputs.size(); ++k) {
      const Endpoint e{id, static_cast<std::int32_t>(k)};
      if (const int list = list_of(e); list >= 0) s_.containers.put(list, c.outputs[k]);
      set_output(e, c.outputs[k]);
    }
  }

  // Returns the container of a list; -1: the value is not a list.
  int list_of(Endpoint e) const { return s_.graph.dtype(e) == DType::kVariant ? s_.containers.behind(e) : -1; }

  void set_output(Endpoint e, const Placement& made) {
    const std::size_t at = s_.at(e);
    const bool open = made.is_partial() || made.kind == Placement::Kind::kOnce;
    s_.made[at] = made;
    s_.base[at] = made;
    if (open && s_.combined[at].yes()) s_.base[at] = Placement::replicate();
    if (s_.seed[at] != nullptr) s_.base[at] = s_.seed[at]->placement;
  }

  Status no_way(NodeId id) const {
    const Node& n = s_.graph.node(id);
    std::string given;
    for (const Placement& p : in_) given += (given.empty() ? "" : ", ") + to_string(p);
    return invalid_argument("'", n.name, "' (", n.op->name, ") cannot be computed with inputs ", given,
                            " on the mesh axis '", s_.axis.name, "': ", to_string(s_.rules.rule(id)))
        .with_id("ARG-SHARD-013")
        .with_where(str_cat("node '", n.name, "'"))
        .with_hint("one layout for all variables that a node updates");
  }

  AxisState& s_;
  std::vector<SmallVector<Placement, 1>> had_;  // by output: placements that some user has needed
  std::vector<Placement> in_, wishes_;
  std::vector<char> known_;
  std::vector<Choice> shardings_;
  bool again_ = false;
};

}  // namespace

Status sweep_forward(AxisState& s) {
  std::vector<char> known(s.sizes.index().size(), 0);
  std::vector<NodeId> carries;
  for (const NodeId id : s.sizes.order()) {
    const Node& n = s.graph.node(id);
    const auto closes = [&](Endpoint e) { return s.graph.node(e.node).op->closes_loop; };
    if (n.op->flow == Flow::kMerge && std::any_of(n.inputs.begin(), n.inputs.end(), closes)) carries.push_back(id);
  }
  std::vector<int> changes(carries.size(), 0);
  std::vector<Placement> before;
  bool first = !carries.empty();  // what loops bring is not known yet
  for (bool again = true; again;) {
    before.clear();
    for (const NodeId id : carries) before.push_back(s.made[s.at(Endpoint{id, 0})]);
    Sweep sweep(s);
    ARGOSY_RETURN_IF_ERROR(sweep.run(known));
    again = s.containers.take_news() || std::exchange(first, false) || sweep.again();
    for (std::size_t i = 0; i < carries.size(); ++i) {
      if (s.made[s.at(Endpoint{carries[i], 0})] == before[i]) continue;
      again = true;
      if (++changes[i] > kTimesRound) s.whole[static_cast<std::size_t>(carries[i].index)] = 1;
    }
  }
  return ok_status();
}

}  // namespace argosy
