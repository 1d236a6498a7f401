#include "argosy/sharding/resolve/resolve.h"

#include <algorithm>
#include <tuple>

#include "argosy/sharding/resolve/combine.h"
#include "argosy/sharding/resolve/forward.h"
#include "argosy/sharding/resolve/propagate.h"
#include "argosy/sharding/resolve/reasons.h"

namespace argosy {

namespace {

constexpr int kMostRounds = 32;  // what is left then is combined where it is: more traffic, the same values

Status decide(AxisState& s) {
  for (int round = 0; round < kMostRounds; ++round) {
    ARGOSY_RETURN_IF_ERROR(sweep_forward(s));
    const bool spread = spread_wishes(s);
    if (spread && !s.request.local.gradients.empty()) continue;  // then it shows which sums are a shard's own
    const bool combined = combine_for_all(s);
    if (!spread && !combined && !move_combinations_up(s)) return ok_status();
  }
  return sweep_forward(s);
}

// Writes the reshards of values on one axis.
class Writer {
 public:
  Writer(const AxisState& state, int axis, std::vector<Reshard>& out) : s_(state), axis_(axis), out_(out) {}

  void write(Endpoint e) {
    const std::size_t at = s_.at(e);
    uses_.clear();
    for (const Graph::Use& use : s_.uses[e.node.index]) {
      if (use.input < 0 || s_.graph.node(use.node).inputs[static_cast<std::size_t>(use.input)] != e) continue;
      if (takes_as_made(use, s_.made[at])) continue;
      uses_.push_back({use, s_.need[s_.at(use)]});
    }
    for (std::size_t f = 0; f < s_.request.fetches.size(); ++f) {
      if (s_.request.fetches[f] == e) uses_.push_back({{kFetch, static_cast<int>(f)}, Placement::replicate()});
    }
    if (s_.made[at] != s_.base[at]) write_base(e);
    std::vector<Placement> needs;
    for (const auto& [use, need] : uses_) {
      if (need != s_.base[at] && std::find(needs.begin(), needs.end(), need) == needs.end()) needs.push_back(need);
    }
    for (const Placement& need : needs) {
      Reshard r{.value = e, .axis = axis_, .from = s_.base[at], .to = need};
      for (const auto& [use, p] : uses_) {
        if (p != need) continue;
        if (r.users.empty()) r.why = why_needed(s_, use, r.from, r.to);
        r.users.push_back(use);
      }
      write_changes(std::move(r));
    }
  }

 private:
  // True if the user reads only the shape: it takes the value as it was made, without a collective.
  bool takes_as_made(Graph::Use use, const Placement& made) const {
    const ShardingRule& rule = s_.rules.rule(use.node);
    const bool has_shape = made.is_replicate() || made.is_shard() || made.is_partial();
    return has_shape && rule.kind == ShardingRule::Kind::kFactors &&
           rule.inputs[static_cast<std::size_t>(use.input)].kind == OperandRule::Kind::kShapeOnly;
  }

  // Writes a reshard. From L it goes by way of P(sum): the shards' statistics are first multiplied by their parts of
  // the batch.
  void write_changes(Reshard r) {
    if (r.from.is_local() && !r.to.is_partial()) {
      Reshard weighed = r;
      weighed.to = r.from = Placement::partial(Combine::kSum);
      out_.push_back(std::move(weighed));
    }
    out_.push_back(std::move(r));
  }

  // Writes the reshard that applies to all users: the combination, or the change to the seed's placement.
  void write_base(Endpoint e) {
    const std::size_t at = s_.at(e);
    Reshard r{.value = e, .axis = axis_, .from = s_.made[at], .to = s_.base[at]};
    for (const auto& [use, need] : uses_) r.users.push_back(use);
    if (r.users.empty()) return;
    r.why = s_.seed[at] != nullptr ? s_.seed[at]->why : s_.combined[at].why;
    out_.push_back(std::move(r));
  }

  const AxisState& s_;
  const int axis_;
  std::vector<Reshard>& out_;
  std::vector<std::pair<Graph::Use, Placement>> uses_;
};

void write_whole(const AxisState& s, std::vector<WholeNode>& out) {
  for (const NodeId id : s.sizes.order()) {
    const Node& n = s.graph.node(id);
    if (s.sharding[static_cast<std::size_t>(id.index)].kind != NodeSharding::Kind::kWhole) continue;
    const bool never = s.rules.rule(id).kind == ShardingRule::Kind::kWhole;
    bool gathered = false;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Placement &is = s.made[s.at(n.inputs[i])], &need = s.need[s.at(Graph::Use{id, static_cast<int>(i)})];
      gathered = gathered || (need.is_replicate() && (is.is_shard() || (never && is.is_partial())));
    }
    if (gathered) out.push_back({id, why_whole(s, id)});
  }
}

// Sorts the entries of all mesh axes by topological order. A node that is whole on several axes is kept once.
void sort_by_graph(const std::vector<NodeId>& order, Assignment& a) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[static_cast<std::size_t>(order[i].index)] = i;
  const auto place = [&](NodeId id) { return position[static_cast<std::size_t>(id.index)]; };
  std::stable_sort(a.reshards.begin(), a.reshards.end(), [&](const Reshard& x, const Reshard& y) {
    return std::tuple(place(x.value.node), x.value.index) < std::tuple(place(y.value.node), y.value.index);
  });
  std::stable_sort(a.whole.begin(), a.whole.end(),
                   [&](const WholeNode& x, const WholeNode& y) { return place(x.node) < place(y.node); });
  const auto same = [](const WholeNode& x, const WholeNode& y) { return x.node == y.node; };
  a.whole.erase(std::unique(a.whole.begin(), a.whole.end(), same), a.whole.end());
}

}  // namespace

Result<Assignment> resolve(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh,
                           const ResolveRequest& request) {
  for (const Seed& seed : request.seeds) {
    const Endpoint e = seed.value;
    const bool there = e.node.index >= 0 && e.node.index < graph.size() && e.index >= 0 &&
                       e.index < std::ssize(graph.node(e.node).output_dtypes) && seed.axis >= 0 &&
                       seed.axis < std::ssize(mesh.axes);
    const PartialShape* const shape = there ? &sizes.shape(e) : nullptr;
    if (there && (!seed.placement.is_shard() || !shape->has_rank() || seed.placement.dim < shape->rank())) continue;
    return invalid_argument("the seed ", to_string(seed.placement), " does not fit ",
                            there ? str_cat("'", graph.node(e.node).name, "' of shape ", *shape) : "any value")
        .with_id("ARG-SHARD-013");
  }
  Assignment a;
  a.layouts.resize(static_cast<std::size_t>(graph.size()));
  a.shardings.resize(static_cast<std::size_t>(graph.size()));
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    a.layouts[static_cast<std::size_t>(i)].resize(graph.node(NodeId{i}).output_dtypes.size());
  }
  std::vector<Placement> elsewhere(sizes.index().size());
  for (int axis = 0; axis < std::ssize(mesh.axes); ++axis) {
    AxisState s(graph, sizes, rules, mesh, axis, request);
    s.elsewhere = elsewhere;
    ARGOSY_RETURN_IF_ERROR(decide(s));
    Writer writer(s, axis, a.reshards);
    for (const NodeId id : sizes.order()) {
      const auto node = static_cast<std::size_t>(id.index);
      a.shardings[node].push_back(s.sharding[node]);
      for (std::int32_t k = 0; k < std::ssize(a.layouts[node]); ++k) {
        const std::size_t at = s.at(Endpoint{id, k});
        a.layouts[node][static_cast<std::size_t>(k)].push_back(s.made[at]);
        if (s.made[at].is_partial()) elsewhere[at] = s.made[at];
        writer.write({id, k});
      }
    }
    write_whole(s, a.whole);
  }
  sort_by_graph(sizes.order(), a);
  return a;
}

std::vector<Seed> shard_feeds(const std::vector<NodeId>& batch, int axis) {
  std::vector<Seed> seeds;
  for (const NodeId id : batch) seeds.push_back({{id, 0}, axis, Placement::shard(0), "it brings the batch"});
  return seeds;
}

}  // namespace argosy
