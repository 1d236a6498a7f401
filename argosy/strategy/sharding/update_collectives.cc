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
  Frontier frontier;
  bool shared = false;  // shards use something of what lies between, too
};

class Cutter {
 public:
  Cutter(Graph& graph, const CutRequest& request, std::vector<Cut>& cuts)
      : graph_(graph), request_(request), axes_(request.axes), cuts_(cuts), copies_(graph, cuts) {
    for (const Cut& c : cuts) whole_before_.push_back(c.value);
  }

  Status run() {
    // Without a seed to tell by, updates of variables that the loss depends on are made of gradients. (Moving averages
    // are such variables, too, where one graph trains and evaluates.)
    std::vector<char> behind_loss(graph_.size(), 0);
    std::vector<NodeId> losses;
    for (const Endpoint e : request_.losses) losses.push_back(e.node);
    if (!request_.seeds.empty()) {
      gradient_ = descendants(graph_, request_.seeds);
      ARGOSY_ASSIGN_OR_RETURN(mixed_, find_mixed(graph_, axes_, losses, request_.seeds, whole_before_));
      ARGOSY_ASSIGN_OR_RETURN(mixed_gradients_, find_mixed_gradients(graph_, axes_, request_.seeds, whole_before_));
    } else {
      behind_loss = ancestors(graph_, losses, false);
    }
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
      ARGOSY_RETURN_IF_ERROR(find_frontiers(n, inputs));
      std::move(inputs.begin(), inputs.end(), std::back_inserter(taken));
    }
    derive_sums(taken);
    find_shared(taken);
    ARGOSY_RETURN_IF_ERROR(find_loop_bounds(taken));
    for (const Taken& t : taken) {
      if (!t.shared) {
        for (const Endpoint sum : t.frontier.sums) cut(sum, how(sum, t.trains));
      }
    }
    for (const Taken& t : taken) {
      if (t.shared) ARGOSY_RETURN_IF_ERROR(take_whole(t));
    }
    return ok_status();
  }

 private:
  // Of what an update takes: in rows of examples, else in pairs of gradients and their indices.
  Status find_frontiers(const Node& n, std::vector<Taken>& inputs) const {
    for (Taken& t : inputs) t.frontier = frontier_of(t, false);
    const auto fails = [](const Taken& t) { return !t.frontier.why.empty(); };
    const auto failed = std::find_if(inputs.begin(), inputs.end(), fails);
    if (failed == inputs.end()) return ok_status();
    std::string why = failed->frontier.why;
    for (Taken& t : inputs) t.frontier = frontier_of(t, true);
    if (std::none_of(inputs.begin(), inputs.end(), fails) && belong_together(inputs)) return ok_status();
    return cannot_combine(n, why);
  }

  Frontier frontier_of(const Taken& t, bool in_pairs) const {
    const bool sums_only = t.trains ? request_.gradients == Combine::kSum : has_sums(t.value, in_pairs);
    Frontier frontier =
        find_frontier(graph_, axes_, t.value,
                      {.sums_only = sums_only,
                       .in_pairs = in_pairs,
                       .whole = whole_before_,
                       .alike = !t.trains,
                       .gradients = t.trains ? std::span<const char>(gradient_) : std::span<const char>(),
                       .averaged = !t.trains && !sums_only,
                       .mixed = t.trains ? std::span<const char>(mixed_gradients_) : std::span<const char>(mixed_)});
    // Gradients of a mean that no seed weighs: which of the rows are gradients cannot be told.
    if (frontier.why.empty() && !frontier.rows.empty() && t.trains && request_.gradients == Combine::kMean) {
      frontier.why = "where the gradients of the loss start cannot be told";
    }
    return frontier;
  }

  // Are there sums over samples in it? Moving averages of a sum, average - (average - sum) * rate, add up what shards
  // have of that; those of a mean may be averaged as a whole.
  bool has_sums(Endpoint value, bool in_pairs) const {
    if (combination_of(graph_, axes_, value, whole_before_).how == Combine::kSum) return true;
    const Frontier parts = find_frontier(
        graph_, axes_, value,
        {.sums_only = true, .in_pairs = in_pairs, .whole = whole_before_, .alike = true, .mixed = mixed_});
    return parts.why.empty() && std::any_of(parts.sums.begin(), parts.sums.end(),
                                            [&](Endpoint sum) { return how(sum, false) == Combine::kSum; });
  }

  // A sum that is computed from others, which are summed in any case, need not be summed as well: a rule written by
  // hand takes 0.01 * g and the square of g, and g is had of the whole batch for the second.
  void derive_sums(std::vector<Taken>& taken) const {
    for (bool again = true; again;) {
      again = false;
      std::map<Endpoint, std::set<Combine>> all;  // and how they are combined
      for (const Taken& t : taken) {
        for (const Endpoint sum : t.frontier.sums) all[sum].insert(how(sum, t.trains));
      }
      for (Taken& t : taken) {
        for (const Endpoint sum : std::vector<Endpoint>(t.frontier.sums)) {
          const auto summed = [&](Endpoint e) {
            const auto found = all.find(e);
            return found != all.end() && found->second == std::set<Combine>{how(e, t.trains)};
          };
          Frontier from;
          if (!derive(sum.node, summed, from) || from.sums.empty()) continue;
          put_in_place(sum, from, t.frontier);
          again = true;
        }
      }
    }
  }

  // What the node is computed from, when that is sums alone: them, and what lies between, inputs first.
  template <typename Summed>
  bool derive(NodeId id, const Summed& summed, Frontier& from) const {
    const Node& n = graph_.node(id);
    if (n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing || n.op->stateful || n.op->collective) return false;
    if (std::find(from.between.begin(), from.between.end(), id) != from.between.end()) return true;
    if (from.between.size() >= kMostDerived) return false;
    bool found = false;  // what depends on the batch and reads nothing that does brings it in itself
    for (const Endpoint e : n.inputs) {
      if (!axes_.depends(e.node)) continue;
      found = true;
      if (is_among(cuts_, e)) continue;
      if (summed(e)) {
        if (std::find(from.sums.begin(), from.sums.end(), e) == from.sums.end()) from.sums.push_back(e);
      } else if (axes_.axis(e) != BatchAxes::kNone || !derive(e.node, summed, from)) {
        return false;
      }
    }
    from.between.push_back(id);
    return found;
  }

  static void put_in_place(Endpoint sum, const Frontier& from, Frontier& of) {
    std::erase(of.sums, sum);
    for (const Endpoint e : from.sums) {
      if (std::find(of.sums.begin(), of.sums.end(), e) == of.sums.end()) of.sums.push_back(e);
    }
    std::vector<NodeId> between = from.between;
    for (const NodeId id : of.between) {
      if (std::find(from.between.begin(), from.between.end(), id) == from.between.end()) between.push_back(id);
    }
    of.between = std::move(between);
  }

  // Every share goes round a loop as often as the whole batch would: what a predicate compares with is had of that.
  Status find_loop_bounds(std::vector<Taken>& taken) const {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      if (graph_.node(id).op->flow != Flow::kLoopCond || !axes_.depends(id)) continue;
      for (const NodeId enter : entering(id)) {
        const Endpoint bound = graph_.node(enter).inputs[0];
        if (!depends_on_examples(bound)) continue;
        Taken t{.update = enter, .value = bound, .shared = true};
        if (axes_.axis(bound) == BatchAxes::kNone)
          t.frontier = find_frontier(graph_, axes_, bound, {.whole = whole_before_});
        if (axes_.axis(bound) != BatchAxes::kNone || !t.frontier.why.empty()) {
          return cannot_combine(graph_.node(id), "how often the loop goes round depends on the examples in it");
        }
        taken.push_back(std::move(t));
      }
    }
    return ok_status();
  }

  // Not just on how often another loop goes round: a gradient's loop counts as many turns as there were.
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

  // What enters the loop and is computed with on the way to its predicate.
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

  // Gradients and indices, row by row.
  bool belong_together(const std::vector<Taken>& inputs) const {
    std::set<std::pair<std::int64_t, std::int64_t>> lengths;
    bool gradients = false, indices = false;
    for (const Taken& t : inputs) {
      for (const Endpoint rows : t.frontier.rows) {
        lengths.insert(axes_.lengths(rows));
        (is_floating(graph_.dtype(rows)) ? gradients : indices) = true;
      }
    }
    return lengths.size() == 1 && gradients && indices;
  }

  // Where updates alone use the sums, and what they are made into on the way, whoever asks for them gets the whole
  // batch's. Else (the mean that a layer normalises by, and a moving average follows; the number of rows) shards keep
  // their own.
  void find_shared(std::vector<Taken>& taken) const {
    std::vector<char> on_the_way(graph_.size(), 0);
    for (const Taken& t : taken) {
      on_the_way[t.update.index] = 1;
      for (const NodeId id : t.frontier.between) on_the_way[id.index] = 1;
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
        const Frontier& f = t.frontier;
        const auto keeps = [&](Endpoint e) { return kept.contains(e) || used_elsewhere(e.node, e.index); };
        if (t.shared) continue;
        t.shared = !f.rows.empty() || std::any_of(f.sums.begin(), f.sums.end(), keeps) ||
                   std::any_of(f.between.begin(), f.between.end(), [&](NodeId id) { return used_elsewhere(id, -1); });
        if (!t.shared) continue;
        kept.insert(f.sums.begin(), f.sums.end());
        again = true;
      }
    }
  }

  // The update takes copies of what lies between, computed from the whole batch's rows and sums.
  Status take_whole(const Taken& t) {
    for (const Endpoint rows : t.frontier.rows) ARGOSY_RETURN_IF_ERROR(copies_.mark(rows, Combine::kConcat));
    for (const Endpoint sum : t.frontier.sums) ARGOSY_RETURN_IF_ERROR(copies_.mark(sum, how(sum, t.trains)));
    for (const NodeId id : t.frontier.between) ARGOSY_RETURN_IF_ERROR(copies_.compute_again(id));
    graph_.set_input(t.update, t.input, copies_.of(t.value));
    return ok_status();
  }

  // Moving averages and counters that are neither sums nor means are averaged.
  Combine how(Endpoint sum, bool trains) const {
    if (axes_.counts_samples(sum)) return Combine::kSum;
    if (trains && (gradient_.empty() || is_gradient(sum))) return request_.gradients;
    return combination_of(graph_, axes_, sum, whole_before_).how == Combine::kSum ? Combine::kSum : Combine::kMean;
  }

  // REQUIRES: it was there before cuts were.
  bool is_gradient(Endpoint e) const { return gradient_[static_cast<std::size_t>(e.node.index)] != 0; }

  void cut(Endpoint e, Combine how) {
    if (!is_among(cuts_, e)) cuts_.push_back({.value = e, .how = how});
  }

  Graph& graph_;
  const CutRequest& request_;
  const BatchAxes& axes_;
  std::vector<Cut>& cuts_;
  std::vector<char> gradient_;          // by node: made of gradients; empty where their seeds are not known
  std::vector<char> mixed_;             // by node: shares come to other numbers; empty: not known either
  std::vector<char> mixed_gradients_;   // by node: the same of gradients; empty: likewise
  std::vector<Endpoint> whole_before_;  // cut already, for the losses
  WholeCopies copies_;                  // of what shards go on using as their own
};

}  // namespace

bool is_among(const std::vector<Cut>& cuts, Endpoint e) {
  return std::any_of(cuts.begin(), cuts.end(), [&](const Cut& c) { return c.value == e; });
}

Status cut_updates(Graph& graph, const CutRequest& request, std::vector<Cut>& cuts) {
  return Cutter(graph, request, cuts).run();
}

Status cannot_combine(const Node& n, std::string_view why) {
  return unimplemented("cannot tell what '", n.name, "' (", n.op->name, ") takes of a batch in shares: ", why)
      .with_id("ARG-DP-003")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_next("train on one device");
}

}  // namespace argosy
