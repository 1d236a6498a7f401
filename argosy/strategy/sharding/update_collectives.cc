#include "argosy/strategy/sharding/update_collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/strategy/sharding/partial_sums.h"
#include "argosy/strategy/sharding/recompute.h"

namespace argosy {

namespace {

constexpr std::size_t kMostDerived = 32;  // nodes between a sum and those that it is computed from

// An input of an update, or of the predicate of a loop, that depends on the batch.
struct Taken {
  NodeId update;  // or Enter
  int input = 0;
  Endpoint value;
  bool trains = false;  // made of gradients
  PartialSums partial_sums;
  bool used_by_shards = false;  // shards use some of the values between, too
};

class UpdateCollectives {
 public:
  UpdateCollectives(Graph& graph, const UpdateCollectivesRequest& request, std::vector<CollectivePoint>& collectives)
      : graph_(graph), request_(request), axes_(request.axes), collectives_(collectives), copies_(graph, collectives) {
    for (const CollectivePoint& c : collectives) global_before_.push_back(c.value);
  }

  Status run() {
    // Without a known seed, updates of variables that the loss depends on count as made of gradients. (Moving averages
    // are such variables, too, if one graph trains and evaluates.)
    std::vector<char> behind_loss(graph_.size(), 0);
    std::vector<NodeId> losses;
    for (const Endpoint e : request_.losses) losses.push_back(e.node);
    if (!request_.seeds.empty()) {
      gradient_ = descendants(graph_, request_.seeds);
      ARGOSY_ASSIGN_OR_RETURN(cross_example_,
                              find_cross_example_nodes(graph_, axes_, losses, request_.seeds, global_before_));
      ARGOSY_ASSIGN_OR_RETURN(cross_example_gradients_,
                              find_cross_example_gradients(graph_, axes_, request_.seeds, global_before_));
    } else {
      behind_loss = ancestors(graph_, losses, false);
    }
    add_given_gradients();
    std::vector<Taken> taken;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      const Node& n = graph_.node(id);
      if (!writes_variable(graph_, n)) continue;
      const auto variable = variable_behind(graph_, n.inputs[0]);
      std::vector<Taken> inputs;
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const Endpoint e = n.inputs[k];
        if (is_handle(graph_, e) || !axes_.depends(e.node)) continue;
        const bool trains = gradient_.empty() ? variable && behind_loss[variable->index] : is_gradient(e);
        inputs.push_back({.update = id, .input = static_cast<int>(k), .value = e, .trains = trains});
      }
      ARGOSY_RETURN_IF_ERROR(find_all_partial_sums(n, inputs));
      std::move(inputs.begin(), inputs.end(), std::back_inserter(taken));
    }
    derive_sums(taken);
    find_used_by_shards(taken);
    ARGOSY_RETURN_IF_ERROR(find_loop_bounds(taken));
    for (const Taken& t : taken) {
      if (!t.used_by_shards) {
        for (const Endpoint sum : t.partial_sums.sums) add_collective(sum, kind(sum, t.trains));
      }
    }
    for (const Taken& t : taken) {
      if (t.used_by_shards) ARGOSY_RETURN_IF_ERROR(take_global(t));
    }
    return ok_status();
  }

 private:
  // A given gradient that is a plain sum gets its collective at once: updates read global values from there on. Others
  // (with a term that counts once, through statistics of a shard) are searched for like those of an imported graph.
  void add_given_gradients() {
    if (request_.gradients != PlacementKind::kPartialSum) return;
    for (const Endpoint e : request_.given) {
      if (!axes_.depends(e.node) || axes_.axis(e) != BatchAxes::kNone || is_among(collectives_, e)) continue;
      const BatchPlacement placement = batch_placement_of(graph_, axes_, e, global_before_);
      if (placement.kind != PlacementKind::kPartialSum || !placement.once.empty()) continue;
      add_collective(e, PlacementKind::kPartialSum);
      global_before_.push_back(e);
    }
  }

  // Finds the partial sums of an update's inputs: with rows of examples, else with pairs of gradients and indices.
  Status find_all_partial_sums(const Node& n, std::vector<Taken>& inputs) const {
    for (Taken& t : inputs) t.partial_sums = partial_sums_of(t, false);
    const auto fails = [](const Taken& t) { return !t.partial_sums.why.empty(); };
    const auto failed = std::find_if(inputs.begin(), inputs.end(), fails);
    if (failed == inputs.end()) return ok_status();
    std::string why = failed->partial_sums.why;
    for (Taken& t : inputs) t.partial_sums = partial_sums_of(t, true);
    if (std::none_of(inputs.begin(), inputs.end(), fails) && belong_together(inputs)) return ok_status();
    return cannot_combine(n, why);
  }

  PartialSums partial_sums_of(const Taken& t, bool in_pairs) const {
    const bool sums_only = t.trains ? request_.gradients == PlacementKind::kPartialSum : has_sums(t.value, in_pairs);
    PartialSums partial_sums =
        find_partial_sums(graph_, axes_, t.value,
                          {.sums_only = sums_only,
                           .in_pairs = in_pairs,
                           .global = global_before_,
                           .alike = !t.trains,
                           .gradients = t.trains ? std::span<const char>(gradient_) : std::span<const char>(),
                           .averaged = !t.trains && !sums_only,
                           .cross_example = t.trains ? std::span<const char>(cross_example_gradients_)
                                                     : std::span<const char>(cross_example_)});
    // The seed of the mean is not known: which rows are gradients cannot be decided.
    if (partial_sums.why.empty() && !partial_sums.rows.empty() && t.trains &&
        request_.gradients == PlacementKind::kPartialMean) {
      partial_sums.why = "where the gradients of the loss start cannot be told";
    }
    return partial_sums;
  }

  // True if the value contains sums over examples. A moving average of a sum, average - (average - sum) * rate, adds
  // the shards' sums. A moving average of a mean may be averaged itself.
  bool has_sums(Endpoint value, bool in_pairs) const {
    if (batch_placement_of(graph_, axes_, value, global_before_).kind == PlacementKind::kPartialSum) return true;
    const PartialSums terms = find_partial_sums(graph_, axes_, value,
                                                {.sums_only = true,
                                                 .in_pairs = in_pairs,
                                                 .global = global_before_,
                                                 .alike = true,
                                                 .cross_example = cross_example_});
    return terms.why.empty() && std::any_of(terms.sums.begin(), terms.sums.end(), [&](Endpoint sum) {
             return kind(sum, false) == PlacementKind::kPartialSum;
           });
  }

  // A sum that is computed from other sums needs no collective. Example: an update rule takes 0.01 * g and the square
  // of g. The second needs the global g, which then serves the first.
  void derive_sums(std::vector<Taken>& taken) const {
    for (bool again = true; again;) {
      again = false;
      std::map<Endpoint, std::set<PlacementKind>> all;  // by sum: how it combines
      for (const Taken& t : taken) {
        for (const Endpoint sum : t.partial_sums.sums) all[sum].insert(kind(sum, t.trains));
      }
      for (Taken& t : taken) {
        for (const Endpoint sum : std::vector<Endpoint>(t.partial_sums.sums)) {
          const auto summed = [&](Endpoint e) {
            const auto found = all.find(e);
            return found != all.end() && found->second == std::set<PlacementKind>{kind(e, t.trains)};
          };
          PartialSums from;
          if (!derive(sum.node, summed, from) || from.sums.empty()) continue;
          put_in_place(sum, from, t.partial_sums);
          again = true;
        }
      }
    }
  }

  // Collects the sums that the node is computed from, if there is nothing else, and the nodes between, inputs first.
  template <typename Summed>
  bool derive(NodeId id, const Summed& summed, PartialSums& from) const {
    const Node& n = graph_.node(id);
    if (n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing || n.op->stateful || n.op->collective) return false;
    if (std::find(from.recompute.begin(), from.recompute.end(), id) != from.recompute.end()) return true;
    if (from.recompute.size() >= kMostDerived) return false;
    bool found = false;  // what depends on the batch and reads nothing that does brings it in itself
    for (const Endpoint e : n.inputs) {
      if (!axes_.depends(e.node)) continue;
      found = true;
      if (is_among(collectives_, e)) continue;
      if (summed(e)) {
        if (std::find(from.sums.begin(), from.sums.end(), e) == from.sums.end()) from.sums.push_back(e);
      } else if (axes_.axis(e) != BatchAxes::kNone || !derive(e.node, summed, from)) {
        return false;
      }
    }
    from.recompute.push_back(id);
    return found;
  }

  static void put_in_place(Endpoint sum, const PartialSums& from, PartialSums& of) {
    std::erase(of.sums, sum);
    for (const Endpoint e : from.sums) {
      if (std::find(of.sums.begin(), of.sums.end(), e) == of.sums.end()) of.sums.push_back(e);
    }
    std::vector<NodeId> recompute = from.recompute;
    for (const NodeId id : of.recompute) {
      if (std::find(from.recompute.begin(), from.recompute.end(), id) == from.recompute.end()) recompute.push_back(id);
    }
    of.recompute = std::move(recompute);
  }

  // Every shard iterates a loop as often as the global batch would. The bound in its predicate becomes global.
  Status find_loop_bounds(std::vector<Taken>& taken) const {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      if (graph_.node(id).op->flow != Flow::kLoopCond || !axes_.depends(id)) continue;
      for (const NodeId enter : entering(id)) {
        const Endpoint bound = graph_.node(enter).inputs[0];
        if (!depends_on_examples(bound)) continue;
        Taken t{.update = enter, .value = bound, .used_by_shards = true};
        if (axes_.axis(bound) == BatchAxes::kNone)
          t.partial_sums = find_partial_sums(graph_, axes_, bound, {.global = global_before_});
        if (axes_.axis(bound) != BatchAxes::kNone || !t.partial_sums.why.empty()) {
          return cannot_combine(graph_.node(id), "how often the loop iterates depends on the examples in it");
        }
        taken.push_back(std::move(t));
      }
    }
    return ok_status();
  }

  // True if it depends on more than the iteration count of another loop. (A gradient's loop iterates as often as its
  // forward loop.)
  bool depends_on_examples(Endpoint value) const {
    std::set<NodeId> seen{value.node};
    std::vector<NodeId> open{value.node};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (!axes_.depends(id)) continue;
      const Node& n = graph_.node(id);
      bool further = false;
      for (const Endpoint e : n.inputs) {
        const bool counts = n.op->flow == Flow::kSwitch && graph_.node(e.node).op->flow == Flow::kLoopCond;
        further = further || counts || axes_.depends(e.node);
        if (!counts && seen.insert(e.node).second) open.push_back(e.node);
      }
      if (!further) return true;
    }
    return false;
  }

  // The Enter nodes on the way to the predicate.
  std::vector<NodeId> entering(NodeId predicate) const {
    std::set<NodeId> seen{predicate};
    std::vector<NodeId> open{predicate}, found;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (graph_.node(id).op->flow == Flow::kEnter) {
        found.push_back(id);
        continue;
      }
      for (const Endpoint e : graph_.node(id).inputs) {
        if (seen.insert(e.node).second) open.push_back(e.node);
      }
    }
    return found;
  }

  // True if gradients and indices belong together row by row.
  bool belong_together(const std::vector<Taken>& inputs) const {
    std::set<std::pair<std::int64_t, std::int64_t>> lengths;
    bool gradients = false, indices = false;
    for (const Taken& t : inputs) {
      for (const Endpoint rows : t.partial_sums.rows) {
        lengths.insert(axes_.lengths(rows));
        (is_floating(graph_.dtype(rows)) ? gradients : indices) = true;
      }
    }
    return lengths.size() == 1 && gradients && indices;
  }

  // If only updates use a sum and the values made of it, all readers get the global value. Otherwise shards keep their
  // own: the mean that a layer normalises by and a moving average follows, the number of rows.
  void find_used_by_shards(std::vector<Taken>& taken) const {
    std::vector<char> on_the_way(graph_.size(), 0);
    for (const Taken& t : taken) {
      on_the_way[t.update.index] = 1;
      for (const NodeId id : t.partial_sums.recompute) on_the_way[id.index] = 1;
    }
    const auto uses = graph_.consumers();
    const auto used_elsewhere = [&](NodeId id, int output) {
      return std::any_of(uses[id.index].begin(), uses[id.index].end(), [&](const Graph::Use& use) {
        if (use.input < 0 || on_the_way[use.node.index]) return false;
        return output < 0 || graph_.node(use.node).inputs[use.input].index == output;
      });
    };
    std::set<Endpoint> kept;  // sums of which shards keep their own
    for (bool again = true; again;) {
      again = false;
      for (Taken& t : taken) {
        const PartialSums& f = t.partial_sums;
        const auto keeps = [&](Endpoint e) { return kept.contains(e) || used_elsewhere(e.node, e.index); };
        if (t.used_by_shards) continue;
        t.used_by_shards =
            !f.rows.empty() || std::any_of(f.sums.begin(), f.sums.end(), keeps) ||
            std::any_of(f.recompute.begin(), f.recompute.end(), [&](NodeId id) { return used_elsewhere(id, -1); });
        if (!t.used_by_shards) continue;
        kept.insert(f.sums.begin(), f.sums.end());
        again = true;
      }
    }
  }

  // The update reads copies of the nodes between, computed from global rows and sums.
  Status take_global(const Taken& t) {
    for (const Endpoint rows : t.partial_sums.rows)
      ARGOSY_RETURN_IF_ERROR(copies_.add_collective(rows, PlacementKind::kShard));
    for (const Endpoint sum : t.partial_sums.sums)
      ARGOSY_RETURN_IF_ERROR(copies_.add_collective(sum, kind(sum, t.trains)));
    for (const NodeId id : t.partial_sums.recompute) ARGOSY_RETURN_IF_ERROR(copies_.recompute(id));
    graph_.set_input(t.update, t.input, copies_.of(t.value));
    return ok_status();
  }

  // Moving averages and counters that are neither sums nor means are averaged.
  PlacementKind kind(Endpoint sum, bool trains) const {
    if (axes_.scales_with_batch(sum)) return PlacementKind::kPartialSum;
    if (trains && (gradient_.empty() || is_gradient(sum))) return request_.gradients;
    return batch_placement_of(graph_, axes_, sum, global_before_).kind == PlacementKind::kPartialSum
               ? PlacementKind::kPartialSum
               : PlacementKind::kPartialMean;
  }

  // REQUIRES: it was there before the collectives were.
  bool is_gradient(Endpoint e) const { return gradient_[static_cast<std::size_t>(e.node.index)] != 0; }

  void add_collective(Endpoint e, PlacementKind kind) {
    if (!is_among(collectives_, e)) collectives_.push_back({.value = e, .kind = kind});
  }

  Graph& graph_;
  const UpdateCollectivesRequest& request_;
  const BatchAxes& axes_;
  std::vector<CollectivePoint>& collectives_;
  std::vector<char> gradient_;                 // by node: made of gradients; empty where their seeds are not known
  std::vector<char> cross_example_;            // by node: shards compute other values; empty: not known
  std::vector<char> cross_example_gradients_;  // by node: the same for gradients; empty: not known
  std::vector<Endpoint> global_before_;        // values that are global before updates are considered
  GlobalRecompute copies_;                     // of values that shards go on using as their own
};

}  // namespace

bool is_among(const std::vector<CollectivePoint>& collectives, Endpoint e) {
  return std::any_of(collectives.begin(), collectives.end(), [&](const CollectivePoint& c) { return c.value == e; });
}

Status add_update_collectives(Graph& graph, const UpdateCollectivesRequest& request,
                              std::vector<CollectivePoint>& collectives) {
  return UpdateCollectives(graph, request, collectives).run();
}

Status cannot_combine(const Node& n, std::string_view why) {
  return unimplemented("cannot tell what '", n.name, "' (", n.op->name, ") takes of a batch in shards: ", why)
      .with_id("ARG-DP-003")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("train on one device");
}

}  // namespace argosy
