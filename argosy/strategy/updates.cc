#include "argosy/strategy/updates.h"

#include <algorithm>
#include <map>
#include <set>

#include "argosy/strategy/ancestors.h"
#include "argosy/strategy/branches.h"
#include "argosy/strategy/frontier.h"
#include "argosy/strategy/loss_seed.h"
#include "argosy/strategy/variables.h"

namespace argosy {

namespace {

class Planner {
 public:
  Planner(Graph& graph, const UpdateRequest& request) : graph_(graph), request_(request) {}

  Result<UpdatePlan> run() {
    ARGOSY_RETURN_IF_ERROR(find_inputs());
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    ARGOSY_RETURN_IF_ERROR(check_examples());
    if (request_.loss) ARGOSY_RETURN_IF_ERROR(classify_loss());
    ARGOSY_RETURN_IF_ERROR(find_cuts());
    if (!whole_.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    }
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    find_levels();
    ARGOSY_RETURN_IF_ERROR(check_state());
    ARGOSY_RETURN_IF_ERROR(sort_cuts());
    return std::move(plan_);
  }

 private:
  std::vector<NodeId> roots() const {
    std::vector<NodeId> roots = request_.train;
    if (request_.loss) roots.push_back(request_.loss->node);
    if (roots.empty()) {
      for (std::int32_t i = 0; i < graph_.size(); ++i) roots.push_back(NodeId{i});
    }
    return roots;
  }

  Status find_inputs() {
    plan_.loss.how = Combine::kSame;
    plan_.inputs = request_.inputs.empty() ? batch_placeholders(graph_, roots()) : request_.inputs;
    if (!plan_.inputs.empty()) return ok_status();
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_next("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }

  Status classify_loss() {
    const std::string& name = graph_.node(request_.loss->node).name;
    plan_.loss = combination_of(graph_, plan_.axes, *request_.loss);
    if (request_.combine) {
      plan_.loss = {.how = *request_.combine};
    } else if (plan_.loss.how == Combine::kSame) {
      return invalid_argument("the loss '", name, "' does not depend on the batch").with_id("ARG-DP-004");
    } else if (plan_.loss.how == Combine::kUnknown) {
      return invalid_argument("cannot tell how the loss '", name, "' combines over the batch: ", plan_.loss.why)
          .with_id("ARG-DP-002")
          .with_next("--combine=sum if it adds up over samples, --combine=mean if it is an average of them");
    }
    gradients_ = plan_.loss.how == Combine::kMean ? Combine::kMean : Combine::kSum;
    if (plan_.loss.how == Combine::kWeighted) cut(plan_.loss.weight, Combine::kSum);
    seeds_ = loss_seeds(graph_, *request_.loss);
    if (plan_.loss.how != Combine::kMean || seeds_.empty()) return ok_status();
    for (const NodeId seed : seeds_) ARGOSY_RETURN_IF_ERROR(scale_loss_seed(graph_, seed, plan_.inputs[0]));
    gradients_ = Combine::kSum;
    seed_scaled_ = true;
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    return ok_status();
  }

  void cut(Endpoint e, Combine how) {
    const bool known = std::any_of(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& c) { return c.value == e; });
    if (!known) plan_.cuts.push_back({.value = e, .how = how});
  }

  // A shard's samples do not meet another's.
  Status check_examples() const {
    const std::vector<char> used = ancestors(graph_, roots(), true);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      for (int k = 0; used[i] && k < static_cast<int>(n.output_dtypes.size()); ++k) {
        if (plan_.axes.axis({NodeId{i}, k}) != BatchAxes::kSeveral) continue;
        return unimplemented("'", n.name, "' (", n.op->name, ") sets every sample of the batch beside every other")
            .with_id("ARG-DP-007")
            .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
            .with_next("train on one device: shares of the batch know only themselves");
      }
    }
    return ok_status();
  }

  // An input of an update that depends on the batch.
  struct Taken {
    NodeId update;
    int input = 0;
    Endpoint value;
    bool trains = false;  // made of gradients
    Frontier frontier;
    bool shared = false;  // shards use something of what lies between, too
  };

  Status find_cuts() {
    // Without a seed to tell by, updates of variables that the loss depends on are made of gradients. (Moving averages
    // are such variables, too, where one graph trains and evaluates.)
    std::vector<char> gradient, behind_loss(graph_.size(), 0);
    if (!seeds_.empty()) {
      gradient = descendants(graph_, seeds_);
    } else if (request_.loss) {
      behind_loss = ancestors(graph_, {request_.loss->node}, false);
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
        if (is_handle(graph_, e) || !plan_.axes.depends(e.node)) continue;
        const bool trains = gradient.empty() ? variable && behind_loss[variable->index] : gradient[e.node.index] != 0;
        inputs.push_back({.update = id, .input = static_cast<int>(k), .value = e, .trains = trains});
      }
      ARGOSY_RETURN_IF_ERROR(find_frontiers(n, inputs));
      std::move(inputs.begin(), inputs.end(), std::back_inserter(taken));
    }
    find_shared(taken);
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
    const bool sums_only = t.trains ? gradients_ == Combine::kSum && !seed_scaled_
                                    : combination_of(graph_, plan_.axes, t.value).how == Combine::kSum;
    Frontier frontier =
        find_frontier(graph_, plan_.axes, t.value,
                      {.sums_only = sums_only, .in_pairs = in_pairs, .averaged = !t.trains && !sums_only});
    // Gradients of a mean that no seed weighs: which of the rows are gradients cannot be told.
    if (frontier.why.empty() && !frontier.rows.empty() && t.trains && gradients_ == Combine::kMean) {
      frontier.why = "where the gradients of the loss start cannot be told";
    }
    return frontier;
  }

  // Gradients and indices, row by row.
  bool belong_together(const std::vector<Taken>& inputs) const {
    std::set<std::pair<std::int64_t, std::int64_t>> lengths;
    bool gradients = false, indices = false;
    for (const Taken& t : inputs) {
      for (const Endpoint rows : t.frontier.rows) {
        lengths.insert(plan_.axes.lengths(rows));
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
    for (const Endpoint rows : t.frontier.rows) ARGOSY_RETURN_IF_ERROR(mark(rows, Combine::kConcat));
    for (const Endpoint sum : t.frontier.sums) ARGOSY_RETURN_IF_ERROR(mark(sum, how(sum, t.trains)));
    for (const NodeId id : t.frontier.between) ARGOSY_RETURN_IF_ERROR(compute_again(id));
    graph_.set_input(t.update, t.input, whole(t.value));
    return ok_status();
  }

  // Moving averages and counters that are neither sums nor means are averaged.
  Combine how(Endpoint sum, bool trains) const {
    if (plan_.axes.counts_samples(sum)) return Combine::kSum;
    if (trains) return gradients_;
    return combination_of(graph_, plan_.axes, sum).how == Combine::kSum ? Combine::kSum : Combine::kMean;
  }

  Endpoint whole(Endpoint e) const {
    const auto found = whole_.find(e);
    return found != whole_.end() ? found->second : e;
  }

  // A node to cut at in place of e, which stays each shard's own.
  Status mark(Endpoint e, Combine how) {
    if (whole_.contains(e) || is_cut(e)) return ok_status();
    const auto root = graph_.name_scope("");
    const Value marker = graph_.add("Identity", {graph_.value(e)}, {}, str_cat(graph_.node(e.node).name, "/of_shard"));
    if (!marker.valid()) return graph_.status();
    graph_.set_device(marker.node(), graph_.node(e.node).device);
    whole_.emplace(e, marker.endpoint());
    cut(marker.endpoint(), how);
    return ok_status();
  }

  Status compute_again(NodeId id) {
    if (whole_.contains({id, 0})) return ok_status();
    const Node& n = graph_.node(id);
    NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, "/whole_batch")),
                  .op = n.op->name,
                  .attrs = n.attrs,
                  .device = n.device};
    for (const Endpoint e : n.inputs) spec.inputs.push_back(whole(e));
    const auto outputs = static_cast<std::int32_t>(n.output_dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
    for (std::int32_t k = 0; k < outputs; ++k) whole_.emplace(Endpoint{id, k}, Endpoint{made, k});
    return ok_status();
  }

  static Status cannot_combine(const Node& n, std::string_view why) {
    return unimplemented("cannot tell what '", n.name, "' (", n.op->name, ") takes of a batch in shares: ", why)
        .with_id("ARG-DP-003")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_next("train on one device");
  }

  bool is_cut(Endpoint e) const {
    return std::any_of(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& c) { return c.value == e; });
  }

  void find_levels() {
    const auto n = static_cast<std::size_t>(graph_.size());
    plan_.levels.assign(n, Level::kOnce);
    std::vector<char> is_input(n, 0), has_cut(n, 0);
    for (const NodeId id : plan_.inputs) is_input[id.index] = 1;
    for (const Cut& c : plan_.cuts) has_cut[c.value.node.index] = 1;
    const auto sees_batch = [&](Endpoint e) {
      if (has_cut[e.node.index] && is_cut(e)) return false;
      return is_input[e.node.index] != 0 || plan_.levels[e.node.index] == Level::kShard;
    };
    for (bool again = true; again;) {
      again = false;
      for (const NodeId id : order_) {
        const Node& node = graph_.node(id);
        if (is_input[id.index] || plan_.levels[id.index] == Level::kShard || !plan_.axes.depends(id)) continue;
        if (std::none_of(node.inputs.begin(), node.inputs.end(), sees_batch)) continue;
        plan_.levels[id.index] = Level::kShard;
        again = again || node.op->closes_loop;
      }
    }
    std::vector<NodeId> roots = request_.train;
    for (std::size_t i = 0; i < n; ++i) {
      if (plan_.levels[i] == Level::kShard) roots.push_back(NodeId{static_cast<std::int32_t>(i)});
    }
    const std::vector<char> needed = ancestors(graph_, roots, true);
    for (std::size_t i = 0; i < n; ++i) {
      // Whatever may be fed stays one node, so that a feed reaches every device.
      const std::string_view op = graph_.nodes()[i].op->name;
      const bool fed = op.starts_with("Placeholder") || op == "_Arg";
      if (needed[i] && !fed && plan_.levels[i] == Level::kOnce) plan_.levels[i] = Level::kDevice;
    }
  }

  // What has copies may keep variables and nothing else: a copy of a queue or of a table would be another one.
  Status check_state() const {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.levels[i] == Level::kOnce || !n.op->stateful || is_variable(n)) continue;
      if (plan_.levels[i] == Level::kShard && writes_variable(graph_, n)) {
        return cannot_combine(n, "every share would write it");
      }
      if (may_be_copied(n)) continue;
      return unimplemented("'", n.name, "' (", n.op->name, ") keeps state of its own, which copies would not share")
          .with_id("ARG-DP-008")
          .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
          .with_next("feed what it gives, or train on one device");
    }
    return ok_status();
  }

  bool may_be_copied(const Node& n) const {
    constexpr std::string_view kOps[] = {"Assert", "Print", "PrintV2", "Empty"};
    if (std::find(std::begin(kOps), std::end(kOps), n.op->name) != std::end(kOps)) return true;
    if (n.op->name.starts_with("_") || n.attrs.find("seed") != nullptr) return true;
    return !n.inputs.empty() && is_handle(graph_, n.inputs[0]) && variable_behind(graph_, n.inputs[0]).has_value();
  }

  Status sort_cuts() {
    std::vector<int> depth(graph_.size(), 0), position(graph_.size(), 0);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const Node& n = graph_.node(order_[at]);
      int& deepest = depth[order_[at].index];
      position[order_[at].index] = static_cast<int>(at);
      for (const Endpoint e : n.inputs) deepest = std::max(deepest, depth[e.node.index] + (is_cut(e) ? 1 : 0));
      for (const NodeId c : n.controls) deepest = std::max(deepest, depth[c.index]);
    }
    const Branches branches = find_branches(graph_, order_);
    for (Cut& c : plan_.cuts) {
      c.depth = depth[c.value.node.index];
      c.branch = branches.of[c.value.node.index];
      for (const Endpoint e : branches.predicates[c.branch]) {
        // A shard that goes the other way would bring nothing, and the rest wait for it.
        if (plan_.levels[e.node.index] == Level::kShard && !is_cut(e)) {
          return cannot_combine(graph_.node(c.value.node), "which branch runs depends on the batch");
        }
      }
    }
    std::stable_sort(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& a, const Cut& b) {
      return position[a.value.node.index] < position[b.value.node.index];
    });
    return ok_status();
  }

  Graph& graph_;
  const UpdateRequest& request_;
  UpdatePlan plan_;
  Combine gradients_ = Combine::kMean;  // how the gradients of the loss combine
  std::vector<NodeId> seeds_;           // where they start
  bool seed_scaled_ = false;
  std::map<Endpoint, Endpoint> whole_;  // by what shards have: the same of the whole batch
  std::vector<NodeId> order_;
};

}  // namespace

Result<UpdatePlan> plan_updates(Graph& graph, const UpdateRequest& request) { return Planner(graph, request).run(); }

}  // namespace argosy
