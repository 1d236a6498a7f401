#include "argosy/strategy/updates.h"

#include <algorithm>
#include <map>

#include "argosy/strategy/ancestors.h"
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
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs));
    ARGOSY_RETURN_IF_ERROR(check_examples());
    if (request_.loss) ARGOSY_RETURN_IF_ERROR(classify_loss());
    ARGOSY_RETURN_IF_ERROR(find_cuts());
    if (!joined_.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs));
    }
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    find_levels();
    ARGOSY_RETURN_IF_ERROR(check_state());
    sort_cuts();
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
    if (plan_.loss.how != Combine::kMean) return ok_status();
    const std::vector<NodeId> seeds = loss_seeds(graph_, *request_.loss);
    if (seeds.empty()) return ok_status();
    for (const NodeId seed : seeds) ARGOSY_RETURN_IF_ERROR(scale_loss_seed(graph_, seed, plan_.inputs[0]));
    gradients_ = Combine::kSum;
    seed_scaled_ = true;
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs));
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

  Status find_cuts() {
    std::vector<char> behind_loss(graph_.size(), 0);
    if (request_.loss) behind_loss = ancestors(graph_, {request_.loss->node}, false);
    const std::int32_t size = graph_.size();  // of the graph as it came
    for (std::int32_t i = 0; i < size; ++i) {
      const NodeId id{i};
      if (!writes_variable(graph_, graph_.node(id))) continue;
      const auto variable = variable_behind(graph_, graph_.node(id).inputs[0]);
      const bool trains = variable && behind_loss[variable->index];
      for (std::size_t k = 0; k < graph_.node(id).inputs.size(); ++k) {
        const Endpoint e = graph_.node(id).inputs[k];
        if (is_handle(graph_, e) || !plan_.axes.depends(e.node)) continue;
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint whole, whole_batch(id, e, trains));
        if (whole != e) graph_.set_input(id, static_cast<int>(k), whole);
      }
    }
    return ok_status();
  }

  // What update `n` is to take in place of e: e itself where only sums lie before it, which are cut; where there are
  // rows, a copy of what is computed from them, of joined rows.
  Result<Endpoint> whole_batch(NodeId n, Endpoint e, bool trains) {
    const bool sums_only = trains ? gradients_ == Combine::kSum && !seed_scaled_
                                  : combination_of(graph_, plan_.axes, e).how == Combine::kSum;
    const Frontier frontier = find_frontier(graph_, plan_.axes, e, sums_only);
    if (!frontier.why.empty()) return cannot_combine(graph_.node(n), frontier.why);
    // Gradients of a mean that no seed weighs: which of the rows are gradients cannot be told.
    if (!frontier.rows.empty() && trains && gradients_ == Combine::kMean) {
      return cannot_combine(graph_.node(n), "where the gradients of the loss start cannot be told");
    }
    for (const Endpoint sum : frontier.sums) trains ? cut_gradient(sum) : cut_statistic(sum);
    if (frontier.rows.empty()) return e;
    for (const Endpoint rows : frontier.rows) ARGOSY_RETURN_IF_ERROR(join(rows));
    for (const NodeId id : frontier.again) ARGOSY_RETURN_IF_ERROR(compute_again(id));
    return whole(e);
  }

  void cut_gradient(Endpoint sum) { cut(sum, plan_.axes.counts_samples(sum) ? Combine::kSum : gradients_); }

  // Moving averages and counters. What is neither a sum nor a mean is averaged.
  void cut_statistic(Endpoint sum) {
    cut(sum, combination_of(graph_, plan_.axes, sum).how == Combine::kSum ? Combine::kSum : Combine::kMean);
  }

  Endpoint whole(Endpoint e) const {
    const auto found = joined_.find(e);
    return found != joined_.end() ? found->second : e;
  }

  // Others go on with the rows of their shard.
  Status join(Endpoint rows) {
    if (joined_.contains(rows)) return ok_status();
    const auto root = graph_.name_scope("");
    const Value marker =
        graph_.add("Identity", {graph_.value(rows)}, {}, str_cat(graph_.node(rows.node).name, "/rows"));
    if (!marker.valid()) return graph_.status();
    graph_.set_device(marker.node(), graph_.node(rows.node).device);
    joined_.emplace(rows, marker.endpoint());
    cut(marker.endpoint(), Combine::kConcat);
    return ok_status();
  }

  Status compute_again(NodeId id) {
    if (joined_.contains({id, 0})) return ok_status();
    const Node& n = graph_.node(id);
    NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, "/whole_batch")),
                  .op = n.op->name,
                  .attrs = n.attrs,
                  .device = n.device};
    for (const Endpoint e : n.inputs) spec.inputs.push_back(whole(e));
    const auto outputs = static_cast<std::int32_t>(n.output_dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
    for (std::int32_t k = 0; k < outputs; ++k) joined_.emplace(Endpoint{id, k}, Endpoint{made, k});
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

  void sort_cuts() {
    std::vector<int> depth(graph_.size(), 0), position(graph_.size(), 0);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const NodeId id = order_[at];
      position[id.index] = static_cast<int>(at);
      for (const Endpoint e : graph_.node(id).inputs) {
        depth[id.index] = std::max(depth[id.index], depth[e.node.index] + (is_cut(e) ? 1 : 0));
      }
    }
    for (Cut& c : plan_.cuts) c.depth = depth[c.value.node.index];
    std::stable_sort(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& a, const Cut& b) {
      return position[a.value.node.index] < position[b.value.node.index];
    });
  }

  Graph& graph_;
  const UpdateRequest& request_;
  UpdatePlan plan_;
  Combine gradients_ = Combine::kMean;  // how the gradients of the loss combine
  bool seed_scaled_ = false;
  std::map<Endpoint, Endpoint> joined_;  // rows of shards, and what is computed from them: the same of the whole batch
  std::vector<NodeId> order_;
};

}  // namespace

Result<UpdatePlan> plan_updates(Graph& graph, const UpdateRequest& request) { return Planner(graph, request).run(); }

}  // namespace argosy
