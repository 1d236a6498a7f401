#include "argosy/strategy/data_parallel/replication_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/dataflow_branches.h"
#include "argosy/strategy/analysis/tensor_arrays.h"
#include "argosy/strategy/analysis/dataflow_loops.h"
#include "argosy/strategy/analysis/gradient_seeds.h"
#include "argosy/strategy/analysis/mean_gradients.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/batch_size/dynamic_batch.h"
#include "argosy/strategy/batch_size/static_sizes.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/collective_order.h"
#include "argosy/strategy/sharding/update_collectives.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/strategy/sharding/partial_sums.h"
#include "argosy/strategy/sharding/cross_example_stats.h"

namespace argosy {

namespace {

class Planner {
 public:
  Planner(Graph& graph, const UpdateRequest& request) : graph_(graph), request_(request) {}

  Result<UpdatePlan> run() {
    if (syncs()) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.replaced, write_out_batch_norms(graph_));
    }
    ARGOSY_RETURN_IF_ERROR(find_inputs());
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    if (request_.shares) ARGOSY_RETURN_IF_ERROR(check_no_pairs(graph_, plan_.axes, roots()));
    const std::int32_t before = graph_.size();
    const bool squeezes = fix_squeezes(graph_, plan_.axes);
    ARGOSY_ASSIGN_OR_RETURN(plan_.sizes_of_shares, fix_sizes(graph_, plan_.axes));
    if (graph_.size() > before || squeezes) ARGOSY_RETURN_IF_ERROR(look_again());
    plan_.sizes_of_shares = plan_.sizes_of_shares || squeezes;
    ARGOSY_RETURN_IF_ERROR(classify_losses());
    if (syncs() && request_.combine) return cannot_sync();
    if (request_.shares) ARGOSY_RETURN_IF_ERROR(check_no_loop_over_examples(graph_, plan_.axes));
    if (request_.shares && !request_.combine) {  // else it is the user's word
      ARGOSY_RETURN_IF_ERROR(cut_numbers_beside_rows());
      ARGOSY_ASSIGN_OR_RETURN(plan_.means_of_shares,
                              check_examples_apart(graph_, plan_.axes, loss_nodes(), cut_values()));
    }
    if (request_.shares) {
      ARGOSY_RETURN_IF_ERROR(check_rules(graph_, plan_.axes,
                                         request_.combine || seeds_.empty() ? roots() : request_.train,
                                         request_.combine ? std::vector<NodeId>() : seeds_));
    }
    const std::int32_t size = graph_.size();
    ARGOSY_RETURN_IF_ERROR(cut_updates(graph_, {plan_.axes, gradients_, seeds_, request_.losses}, plan_.cuts));
    if (graph_.size() > size) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    }
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    find_levels();
    // What is computed from other cuts alone is the whole batch's without another.
    std::erase_if(plan_.cuts, [&](const Cut& c) { return plan_.levels[c.value.node.index] != Level::kShard; });
    ARGOSY_RETURN_IF_ERROR(check_state());
    ARGOSY_RETURN_IF_ERROR(sort_cuts(graph_, order_, plan_.levels, plan_.cuts));
    plan_.seeds = seeds_;
    return std::move(plan_);
  }

 private:
  std::vector<NodeId> roots() const {
    std::vector<NodeId> roots = request_.train;
    for (const Endpoint e : request_.losses) roots.push_back(e.node);
    if (roots.empty()) {
      for (std::int32_t i = 0; i < graph_.size(); ++i) roots.push_back(NodeId{i});
    }
    return roots;
  }

  std::vector<NodeId> loss_nodes() const {
    std::vector<NodeId> losses;
    for (const Endpoint e : request_.losses) losses.push_back(e.node);
    return losses;
  }

  std::vector<NodeId> differentiated() const { return request_.train.empty() ? std::vector<NodeId>() : loss_nodes(); }

  Status find_inputs() {
    plan_.inputs = request_.inputs.empty() ? batch_placeholders(graph_, roots()) : request_.inputs;
    if (!plan_.inputs.empty()) return open_batch_size(graph_, plan_.inputs, roots(), differentiated());
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_next("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }

  bool syncs() const { return request_.sync_batch_norm && request_.shares; }

  Status cut_numbers_beside_rows() {
    std::vector<Cut>& cuts = plan_.cuts;
    if (seeds_.empty() || gradients_ != Combine::kSum) {  // what comes back to numbers could not be told
      if (syncs() && !request_.train.empty()) return cannot_sync();
      return cut_untrained_numbers(graph_, plan_.axes, loss_nodes(), cuts);
    }
    ARGOSY_RETURN_IF_ERROR(cut_untrained_numbers(graph_, plan_.axes, loss_nodes(), cuts));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Cut> trained,
                            find_trained_numbers(graph_, plan_.axes, loss_nodes(), cuts, syncs()));
    if (trained.empty() && plan_.replaced.empty()) return ok_status();
    cuts.insert(cuts.end(), trained.begin(), trained.end());
    const NumberGradients gradients{request_.train, seeds_};
    ARGOSY_RETURN_IF_ERROR(sum_gradients_of_means(graph_, plan_.axes, gradients, cuts));
    for (const Cut& c : trained) {
      if (c.how == Combine::kMean) ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, c.value.node, plan_.inputs[0]));
    }
    ARGOSY_RETURN_IF_ERROR(look_again());
    ARGOSY_RETURN_IF_ERROR(sum_gradients_of_numbers(graph_, plan_.axes, gradients, cuts));
    return look_again();
  }

  static Status cannot_sync() {
    return unimplemented("statistics of the whole batch: where the gradients of the loss start cannot be told")
        .with_id("ARG-DP-007")
        .with_next("train without --sync-batch-norm, or on one device");
  }

  Status classify_losses() {
    gradients_ = Combine::kSum;
    std::map<Endpoint, std::vector<NodeId>> starts;
    for (const Endpoint e : request_.losses) starts[e] = loss_seeds(graph_, e);
    std::map<NodeId, bool> scaled;  // by seed
    for (const Endpoint e : request_.losses) {
      const std::vector<NodeId>& seeds = starts[e];
      // Terms of one loss have one seed, where nothing of the addition is left in the gradients.
      const bool is_term = std::any_of(starts.begin(), starts.end(), [&](const auto& other) {
        return other.first != e &&
               std::find_first_of(seeds.begin(), seeds.end(), other.second.begin(), other.second.end()) != seeds.end();
      });
      if (is_term && !plan_.axes.depends(e.node)) continue;  // decay
      ARGOSY_ASSIGN_OR_RETURN(const Combination& loss, classify(e));
      if (loss.how == Combine::kWeighted) cut(loss.weight, Combine::kSum);
      const bool mean = loss.how == Combine::kMean;
      if (mean && seeds.empty()) gradients_ = Combine::kMean;
      for (const NodeId seed : seeds) {
        if (scaled.emplace(seed, mean).first->second == mean) continue;
        return unimplemented("'", graph_.node(e.node).name, "' is a term of a loss of which others are ",
                             mean ? "no means" : "means", ", and its gradients start with theirs")
            .with_id("ARG-DP-009")
            .with_next("an optimizer's minimize(), or tf.gradients(…, gate_gradients=True), which keeps them apart");
      }
    }
    seeds_.clear();
    for (const auto& [seed, mean] : scaled) seeds_.push_back(seed);
    if (gradients_ == Combine::kMean && request_.losses.size() > 1) {
      return unimplemented("several losses, of one of which it cannot be told where its gradients start")
          .with_id("ARG-DP-009")
          .with_next("train on one device");
    }
    const std::int32_t size = graph_.size();
    for (const auto& [seed, mean] : scaled) {
      if (mean) ARGOSY_RETURN_IF_ERROR(scale_loss_seed(graph_, seed, plan_.inputs[0]));
    }
    return graph_.size() == size ? ok_status() : look_again();
  }

  Result<Combination> classify(Endpoint e) {
    const std::string& name = graph_.node(e.node).name;
    ARGOSY_ASSIGN_OR_RETURN(Combination loss, combination(e, {}));
    if (loss.how == Combine::kUnknown && !request_.shares) loss = {.how = Combine::kSum};  // there is but one term
    if (loss.how == Combine::kUnknown && !request_.combine) {
      ARGOSY_RETURN_IF_ERROR(make_plain_sum(e));
      ARGOSY_ASSIGN_OR_RETURN(loss, combination(e, cut_values()));
    }
    if (loss.how == Combine::kUnknown && !request_.combine) {
      const std::string why = loss.why;
      ARGOSY_RETURN_IF_ERROR(cut_what_it_is_made_of(e));
      ARGOSY_ASSIGN_OR_RETURN(loss, combination(e, cut_values()));
      if (loss.how == Combine::kSame) {
        plan_.losses.push_back(loss);
        return loss;
      }
      loss = {.how = Combine::kUnknown, .why = why};
    }
    if (request_.combine) {
      loss = {.how = *request_.combine};
    } else if (loss.how == Combine::kSame) {
      return invalid_argument("the loss '", name, "' does not depend on the batch").with_id("ARG-DP-004");
    } else if (loss.how == Combine::kUnknown) {
      return invalid_argument("cannot tell how the loss '", name, "' combines over the batch: ", loss.why)
          .with_id("ARG-DP-002")
          .with_next("--combine=sum if it adds up over samples, --combine=mean if it is an average of them");
    }
    plan_.losses.push_back(loss);
    return loss;
  }

  // A sum divided by another is no plain sum where the other has gradients, too: they would be of a share's.
  Result<Combination> combination(Endpoint loss, const std::vector<Endpoint>& whole) const {
    const Combination c = combination_of(graph_, plan_.axes, loss, whole);
    if (c.how != Combine::kWeighted) return c;
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    if (!has_trained_weight(c, path)) return c;
    return Combination{.how = Combine::kUnknown,
                       .why = str_cat("'", graph_.node(c.weight.node).name, "', which it is divided by, is trained")};
  }

  // Of a loss whose terms combine in different ways: weights are the whole batch's, means count by the shard's part.
  Status make_plain_sum(Endpoint loss) {
    const std::vector<Term> terms = terms_of(graph_, plan_.axes, loss);
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    for (const Term& t : terms) {
      if (has_trained_weight(t.combination, path)) return ok_status();
      if (t.combination.how != Combine::kMean) continue;
      const bool alone = t.taker.index >= 0 && path.takers(t.value.node).size() <= 1;
      if (!alone || !may_be_scaled(t.value, path)) return ok_status();
    }
    for (const Term& t : terms) {
      if (t.combination.how == Combine::kWeighted) cut(t.combination.weight, Combine::kSum);
      if (t.combination.how != Combine::kMean) continue;
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint part, scaled_by_part(graph_, t.value, plan_.inputs[0]));
      graph_.set_input(t.taker, t.input, part);
      ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, t.value.node, plan_.inputs[0]));
    }
    return look_again();
  }

  // Of a loss that is no sum itself but computed from some, as the root of a mean is: these are had of the whole batch,
  // and so is what it is computed from them, on every device.
  Status cut_what_it_is_made_of(Endpoint loss) {
    const Frontier frontier = find_frontier(graph_, plan_.axes, loss, {.sums_only = true});
    if (!frontier.why.empty() || !frontier.rows.empty()) return ok_status();
    std::vector<Term> terms;
    for (const Endpoint sum : frontier.sums) {
      const std::vector<Term> own = terms_of(graph_, plan_.axes, sum);
      if (own.empty()) return ok_status();
      terms.insert(terms.end(), own.begin(), own.end());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    for (const Term& t : terms) {
      if (has_trained_weight(t.combination, path)) return ok_status();
      if (!t.combination.once.empty() || !stays_without_rows(t.value, path)) return ok_status();
      if (t.combination.how == Combine::kMean && !may_be_scaled(t.value, path)) return ok_status();
    }
    for (const Term& t : terms) {
      if (t.combination.how == Combine::kWeighted) cut(t.combination.weight, Combine::kSum);
      cut(t.value, t.combination.how == Combine::kMean ? Combine::kMean : Combine::kSum);
      if (t.combination.how == Combine::kMean)
        ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, t.value.node, plan_.inputs[0]));
    }
    return look_again();
  }

  void cut(Endpoint e, Combine how) {
    if (!is_cut(e)) plan_.cuts.push_back({.value = e, .how = how});
  }

  Status look_again() {
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    return ok_status();
  }

  // What lies between variables and a loss, and so has gradients.
  struct Path {
    std::vector<char> nodes;
    Graph::Uses uses;

    // Who takes the value there.
    std::vector<NodeId> takers(NodeId value) const {
      std::vector<NodeId> found;
      for (const Graph::Use& use : uses[value.index]) {
        if (use.input >= 0 && nodes[value.index] && nodes[use.node.index]) found.push_back(use.node);
      }
      return found;
    }
  };
  Result<Path> path_to(Endpoint loss) const {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    return Path{on_gradient_paths(graph_, order, {loss.node}), graph_.consumers()};
  }

  static bool has_trained_weight(const Combination& c, const Path& path) {
    return c.how == Combine::kWeighted && path.nodes[c.weight.node.index] != 0;
  }

  bool may_be_scaled(Endpoint mean, const Path& path) const {
    return path.takers(mean.node).empty() || divisions_of_means(graph_).contains(mean.node);
  }

  // Shards compute no rows with it: their gradients would have to be added before they go on.
  bool stays_without_rows(Endpoint value, const Path& path) const {
    std::vector<char> seen(graph_.size(), 0);
    std::vector<NodeId> open{value.node};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (std::exchange(seen[id.index], 1)) continue;
      for (const NodeId taker : path.takers(id)) {
        if (plan_.axes.axis({taker, 0}) != BatchAxes::kNone) return false;
        open.push_back(taker);
      }
    }
    return true;
  }

  std::vector<Endpoint> cut_values() const {
    std::vector<Endpoint> whole;
    for (const Cut& c : plan_.cuts) whole.push_back(c.value);
    return whole;
  }

  bool is_cut(Endpoint e) const { return is_among(plan_.cuts, e); }

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
        const bool keeps_shares = is_container_op(node) && node.inputs.size() <= 1;  // made by what every share has
        if (!keeps_shares && std::none_of(node.inputs.begin(), node.inputs.end(), sees_batch)) continue;
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
      // Whatever may be fed stays one node, so that a feed reaches every device; and what is drawn for all, since draws
      // of their own would let mirrors drift apart.
      const Node& n = graph_.nodes()[i];
      const bool fed = n.op->name.starts_with("Placeholder") || n.op->name == "_Arg";
      if (needed[i] && !fed && !is_drawn(n) && plan_.levels[i] == Level::kOnce) plan_.levels[i] = Level::kDevice;
    }
    keep_state_once();
  }

  // A queue, a table, a file and what is done to them happen once, as in the client's graph, and what they give goes to
  // every device: a copy would be another one. Not inside loops and conditionals, of which every device has its own.
  void keep_state_once() {
    const std::vector<int> loops = loop_depths(graph_, order_);
    const Branches branches = find_branches(graph_, order_);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.levels[i] != Level::kDevice || loops[i] > 0 || branches.of[i] > 0) continue;
      if (n.op->calls == Calls::kNothing && shares_state(n) && !may_be_copied(n, Level::kDevice))
        plan_.levels[i] = Level::kOnce;
    }
  }

  // Has state that is not a variable's, or works on some.
  bool shares_state(const Node& n) const {
    if (is_variable(n) || n.op->flow != Flow::kNone) return false;
    const auto elsewhere = [&](Endpoint e) { return is_handle(graph_, e) && !variable_behind(graph_, e); };
    return n.op->stateful || (!is_container_op(n) && std::any_of(n.inputs.begin(), n.inputs.end(), elsewhere));
  }

  static bool is_drawn(const Node& n) { return n.op->stateful && n.attrs.find("seed") != nullptr; }

  // What has copies may keep variables and nothing else: a copy of a queue or of a table would be another one.
  Status check_state() const {
    const std::vector<int> loops = loop_depths(graph_, order_);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.levels[i] == Level::kShard && n.op->flow == Flow::kLoopCond) {
        return cannot_combine(n, "how often the loop goes round depends on the examples in it");
      }
      if (plan_.levels[i] == Level::kOnce && loops[i] > 0 && is_drawn(n)) {
        return cannot_combine(n, "it draws for all of the batch in every device's loop");
      }
      if (plan_.levels[i] == Level::kOnce || !shares_state(n)) continue;
      if (plan_.levels[i] == Level::kShard && writes_variable(graph_, n)) {
        return cannot_combine(n, "every share would write it");
      }
      if (may_be_copied(n, plan_.levels[i])) continue;
      return unimplemented("'", n.name, "' (", n.op->name, ") keeps state of its own, which copies would not share")
          .with_id("ARG-DP-008")
          .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
          .with_next("feed what it gives, or train on one device");
    }
    return ok_status();
  }

  bool may_be_copied(const Node& n, Level level) const {
    if (n.op->calls != Calls::kNothing) return false;  // what functions write is not seen
    if (is_container_op(n)) return true;               // every step has its own
    if (only_looks(n) || reads_table(n) || n.op->name == "Empty" || n.op->name.starts_with("_") || is_drawn(n))
      return true;
    // Mirrors of a generator's state move on alike where devices draw; not where each share does.
    if (level == Level::kShard && has_no_rule(graph_, n)) return false;
    return !n.inputs.empty() && is_handle(graph_, n.inputs[0]) && variable_behind(graph_, n.inputs[0]).has_value();
  }

  Graph& graph_;
  const UpdateRequest& request_;
  UpdatePlan plan_;
  Combine gradients_ = Combine::kMean;  // how the gradients of the loss combine
  std::vector<NodeId> seeds_;           // where they start
  std::vector<NodeId> order_;
};

}  // namespace

Result<UpdatePlan> plan_updates(Graph& graph, const UpdateRequest& request) { return Planner(graph, request).run(); }

}  // namespace argosy
