#include "argosy/strategy/data_parallel/replication_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "argosy/strategy/analysis/dataflow_branches.h"
#include "argosy/strategy/analysis/dataflow_loops.h"
#include "argosy/strategy/analysis/gradient_seeds.h"
#include "argosy/strategy/analysis/mean_gradients.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/tensor_arrays.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/batch_size/dynamic_batch.h"
#include "argosy/strategy/batch_size/static_sizes.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/collective_order.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/strategy/sharding/cross_example_stats.h"
#include "argosy/strategy/sharding/partial_sums.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

namespace {

class ReplicationPlanner {
 public:
  ReplicationPlanner(Graph& graph, const ReplicationRequest& request) : graph_(graph), request_(request) {}

  Result<ReplicationPlan> run() {
    if (syncs()) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.replaced, decompose_batch_norms(graph_));
    }
    ARGOSY_RETURN_IF_ERROR(find_inputs());
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    if (request_.sharded) ARGOSY_RETURN_IF_ERROR(check_one_batch_axis(graph_, plan_.axes, roots()));
    const std::int32_t before = graph_.size();
    const bool squeezes = make_squeezes_static(graph_, plan_.axes);
    ARGOSY_ASSIGN_OR_RETURN(plan_.needs_nonempty_shards, make_sizes_static(graph_, plan_.axes));
    if (graph_.size() > before || squeezes) ARGOSY_RETURN_IF_ERROR(reinfer_axes());
    plan_.needs_nonempty_shards = plan_.needs_nonempty_shards || squeezes;
    ARGOSY_RETURN_IF_ERROR(classify_losses());
    if (syncs() && request_.loss_placement) return cannot_sync();
    if (request_.sharded) ARGOSY_RETURN_IF_ERROR(check_no_loop_over_examples(graph_, plan_.axes));
    if (request_.sharded && !request_.loss_placement) {  // else the user decides
      ARGOSY_RETURN_IF_ERROR(add_operand_collectives());
      ARGOSY_ASSIGN_OR_RETURN(plan_.has_shard_means,
                              check_no_cross_example_ops(graph_, plan_.axes, loss_nodes(), global_values()));
    }
    if (request_.sharded) {
      ARGOSY_RETURN_IF_ERROR(check_rules(graph_, plan_.axes,
                                         request_.loss_placement || seeds_.empty() ? roots() : request_.train,
                                         request_.loss_placement ? std::vector<NodeId>() : seeds_));
    }
    const std::int32_t size = graph_.size();
    ARGOSY_RETURN_IF_ERROR(add_update_collectives(
        graph_, {plan_.axes, gradients_, seeds_, request_.losses, request_.gradients}, plan_.collectives));
    if (graph_.size() > size) {
      ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    }
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    find_replica_kinds();
    // A value computed only from other collective points is global without its own collective.
    std::erase_if(plan_.collectives, [&](const CollectivePoint& c) {
      return plan_.replica_kinds[c.value.node.index] != ReplicaKind::kSharded;
    });
    ARGOSY_RETURN_IF_ERROR(check_state());
    ARGOSY_RETURN_IF_ERROR(order_collectives(graph_, order_, plan_.replica_kinds, plan_.collectives));
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
    if (!plan_.inputs.empty()) return make_batch_dynamic(graph_, plan_.inputs, roots(), differentiated());
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_hint("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }

  bool syncs() const { return request_.sync_batch_norm && request_.sharded; }

  Status add_operand_collectives() {
    std::vector<CollectivePoint>& collectives = plan_.collectives;
    if (seeds_.empty() || gradients_ != PlacementKind::kPartialSum) {  // gradients of statistics cannot be found
      if (syncs() && !request_.train.empty()) return cannot_sync();
      return add_untrained_stats(graph_, plan_.axes, loss_nodes(), collectives);
    }
    ARGOSY_RETURN_IF_ERROR(add_untrained_stats(graph_, plan_.axes, loss_nodes(), collectives));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<CollectivePoint> trained,
                            find_trained_stats(graph_, plan_.axes, loss_nodes(), collectives, syncs()));
    if (trained.empty() && plan_.replaced.empty()) return ok_status();
    collectives.insert(collectives.end(), trained.begin(), trained.end());
    const StatGradients gradients{request_.train, seeds_};
    ARGOSY_RETURN_IF_ERROR(sum_gradients_of_means(graph_, plan_.axes, gradients, collectives));
    for (const CollectivePoint& c : trained) {
      if (c.kind == PlacementKind::kPartialMean)
        ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, c.value.node, plan_.inputs[0]));
    }
    ARGOSY_RETURN_IF_ERROR(reinfer_axes());
    ARGOSY_RETURN_IF_ERROR(sum_gradients_of_stats(graph_, plan_.axes, gradients, collectives));
    return reinfer_axes();
  }

  static Status cannot_sync() {
    return unimplemented("statistics of the global batch: where the gradients of the loss start cannot be told")
        .with_id("ARG-DP-007")
        .with_hint("train without --sync-batch-norm, or on one device");
  }

  // The given seed, and others that the graph has for the loss (gradients() called again, for a metric).
  std::vector<NodeId> seeds_of(Endpoint loss) const {
    std::vector<NodeId> seeds = gradient_seeds(graph_, loss);
    if (request_.seed && std::find(seeds.begin(), seeds.end(), *request_.seed) == seeds.end()) {
      seeds.push_back(*request_.seed);
    }
    return seeds;
  }

  Status classify_losses() {
    gradients_ = PlacementKind::kPartialSum;
    std::map<Endpoint, std::vector<NodeId>> starts;
    for (const Endpoint e : request_.losses) starts[e] = seeds_of(e);
    std::map<NodeId, bool> scaled;  // by seed
    for (const Endpoint e : request_.losses) {
      const std::vector<NodeId>& seeds = starts[e];
      // Terms of one loss share a seed if the gradients skip the addition.
      const bool is_term = std::any_of(starts.begin(), starts.end(), [&](const auto& other) {
        return other.first != e &&
               std::find_first_of(seeds.begin(), seeds.end(), other.second.begin(), other.second.end()) != seeds.end();
      });
      if (is_term && !plan_.axes.depends(e.node)) continue;  // decay
      ARGOSY_ASSIGN_OR_RETURN(const BatchPlacement& loss, classify(e));
      if (loss.kind == PlacementKind::kPartialWeighted) add_collective(loss.weight, PlacementKind::kPartialSum);
      const bool mean = loss.kind == PlacementKind::kPartialMean;
      if (mean && seeds.empty()) gradients_ = PlacementKind::kPartialMean;
      for (const NodeId seed : seeds) {
        if (scaled.emplace(seed, mean).first->second == mean) continue;
        return unimplemented("'", graph_.node(e.node).name, "' is a term of a loss of which others are ",
                             mean ? "no means" : "means", ", and its gradients start with theirs")
            .with_id("ARG-DP-009")
            .with_hint("an optimizer's minimize(), or tf.gradients(…, gate_gradients=True), which keeps them apart");
      }
    }
    seeds_.clear();
    for (const auto& [seed, mean] : scaled) seeds_.push_back(seed);
    if (gradients_ == PlacementKind::kPartialMean && request_.losses.size() > 1) {
      return unimplemented("several losses, of one of which it cannot be told where its gradients start")
          .with_id("ARG-DP-009")
          .with_hint("train on one device");
    }
    const std::int32_t size = graph_.size();
    for (const auto& [seed, mean] : scaled) {
      if (mean) ARGOSY_RETURN_IF_ERROR(scale_gradient_seed(graph_, seed, plan_.inputs[0]));
    }
    return graph_.size() == size ? ok_status() : reinfer_axes();
  }

  Result<BatchPlacement> classify(Endpoint e) {
    const std::string& name = graph_.node(e.node).name;
    ARGOSY_ASSIGN_OR_RETURN(BatchPlacement loss, placement(e, {}));
    if (loss.kind == PlacementKind::kUnknown && !request_.sharded)
      loss = {.kind = PlacementKind::kPartialSum};  // there is but one term
    if (loss.kind == PlacementKind::kUnknown && !request_.loss_placement) {
      ARGOSY_RETURN_IF_ERROR(make_plain_sum(e));
      ARGOSY_ASSIGN_OR_RETURN(loss, placement(e, global_values()));
    }
    if (loss.kind == PlacementKind::kUnknown && !request_.loss_placement) {
      const std::string why = loss.why;
      ARGOSY_RETURN_IF_ERROR(reduce_its_sums(e));
      ARGOSY_ASSIGN_OR_RETURN(loss, placement(e, global_values()));
      if (loss.kind == PlacementKind::kReplicate) {
        plan_.losses.push_back(loss);
        return loss;
      }
      loss = {.kind = PlacementKind::kUnknown, .why = why};
    }
    if (request_.loss_placement) {
      loss = {.kind = *request_.loss_placement};
    } else if (loss.kind == PlacementKind::kReplicate) {
      return invalid_argument("the loss '", name, "' does not depend on the batch").with_id("ARG-DP-004");
    } else if (loss.kind == PlacementKind::kUnknown) {
      return invalid_argument("cannot tell how the loss '", name, "' combines over the batch: ", loss.why)
          .with_id("ARG-DP-002")
          .with_hint("--combine=sum if it adds up over samples, --combine=mean if it is an average of them");
    }
    plan_.losses.push_back(loss);
    return loss;
  }

  // A weighted mean is no plain sum if its weights are trained, too: the gradients would use the shard's sum of
  // weights.
  Result<BatchPlacement> placement(Endpoint loss, const std::vector<Endpoint>& global) const {
    const BatchPlacement c = batch_placement_of(graph_, plan_.axes, loss, global);
    if (c.kind != PlacementKind::kPartialWeighted) return c;
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    if (!has_trained_weight(c, path)) return c;
    return BatchPlacement{
        .kind = PlacementKind::kUnknown,
        .why = str_cat("'", graph_.node(c.weight.node).name, "', which it is divided by, is trained")};
  }

  // Makes a plain sum of a loss whose terms combine in different ways. Weights become global; means are scaled by the
  // shard's weight.
  Status make_plain_sum(Endpoint loss) {
    const std::vector<Term> terms = terms_of(graph_, plan_.axes, loss);
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    for (const Term& t : terms) {
      if (has_trained_weight(t.placement, path)) return ok_status();
      if (t.placement.kind != PlacementKind::kPartialMean) continue;
      const bool alone = t.taker.index >= 0 && path.takers(t.value.node).size() <= 1;
      if (!alone || !may_be_scaled(t.value, path)) return ok_status();
    }
    for (const Term& t : terms) {
      if (t.placement.kind == PlacementKind::kPartialWeighted)
        add_collective(t.placement.weight, PlacementKind::kPartialSum);
      if (t.placement.kind != PlacementKind::kPartialMean) continue;
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint part, scaled_by_part(graph_, t.value, plan_.inputs[0]));
      graph_.set_input(t.taker, t.input, part);
      ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, t.value.node, plan_.inputs[0]));
    }
    return reinfer_axes();
  }

  // Serves a loss that is computed from sums, such as the root of a mean. The sums become global, and with them the
  // loss on every device.
  Status reduce_its_sums(Endpoint loss) {
    const PartialSums partial_sums = find_partial_sums(graph_, plan_.axes, loss, {.sums_only = true});
    if (!partial_sums.why.empty() || !partial_sums.rows.empty()) return ok_status();
    std::vector<Term> terms;
    for (const Endpoint sum : partial_sums.sums) {
      const std::vector<Term> own = terms_of(graph_, plan_.axes, sum);
      if (own.empty()) return ok_status();
      terms.insert(terms.end(), own.begin(), own.end());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Path path, path_to(loss));
    for (const Term& t : terms) {
      if (has_trained_weight(t.placement, path)) return ok_status();
      if (!t.placement.once.empty() || !stays_without_rows(t.value, path)) return ok_status();
      if (t.placement.kind == PlacementKind::kPartialMean && !may_be_scaled(t.value, path)) return ok_status();
    }
    for (const Term& t : terms) {
      if (t.placement.kind == PlacementKind::kPartialWeighted)
        add_collective(t.placement.weight, PlacementKind::kPartialSum);
      add_collective(t.value, t.placement.kind == PlacementKind::kPartialMean ? PlacementKind::kPartialMean
                                                                              : PlacementKind::kPartialSum);
      if (t.placement.kind == PlacementKind::kPartialMean)
        ARGOSY_RETURN_IF_ERROR(scale_divisions(graph_, t.value.node, plan_.inputs[0]));
    }
    return reinfer_axes();
  }

  void add_collective(Endpoint e, PlacementKind kind) {
    if (!has_collective_at(e)) plan_.collectives.push_back({.value = e, .kind = kind});
  }

  Status reinfer_axes() {
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs, request_.examples));
    return ok_status();
  }

  // The nodes between variables and a loss: those with gradients.
  struct Path {
    std::vector<char> nodes;
    Graph::Uses uses;

    // The consumers of the value there.
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

  static bool has_trained_weight(const BatchPlacement& c, const Path& path) {
    return c.kind == PlacementKind::kPartialWeighted && path.nodes[c.weight.node.index] != 0;
  }

  bool may_be_scaled(Endpoint mean, const Path& path) const {
    return path.takers(mean.node).empty() || divisions_of_means(graph_).contains(mean.node);
  }

  // True if no rows are computed with the value. Gradients of rows would need a sum before they flow on.
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

  std::vector<Endpoint> global_values() const {
    std::vector<Endpoint> global;
    for (const CollectivePoint& c : plan_.collectives) global.push_back(c.value);
    return global;
  }

  bool has_collective_at(Endpoint e) const { return is_among(plan_.collectives, e); }

  void find_replica_kinds() {
    const auto n = static_cast<std::size_t>(graph_.size());
    plan_.replica_kinds.assign(n, ReplicaKind::kSingleton);
    std::vector<char> is_input(n, 0), has_collective(n, 0);
    for (const NodeId id : plan_.inputs) is_input[id.index] = 1;
    for (const CollectivePoint& c : plan_.collectives) has_collective[c.value.node.index] = 1;
    const auto sees_batch = [&](Endpoint e) {
      if (has_collective[e.node.index] && has_collective_at(e)) return false;
      return is_input[e.node.index] != 0 || plan_.replica_kinds[e.node.index] == ReplicaKind::kSharded;
    };
    for (bool again = true; again;) {
      again = false;
      for (const NodeId id : order_) {
        const Node& node = graph_.node(id);
        if (is_input[id.index] || plan_.replica_kinds[id.index] == ReplicaKind::kSharded || !plan_.axes.depends(id))
          continue;
        const bool is_per_shard = is_tensor_array_op(node) && node.inputs.size() <= 1;  // made by what every shard has
        if (!is_per_shard && std::none_of(node.inputs.begin(), node.inputs.end(), sees_batch)) continue;
        plan_.replica_kinds[id.index] = ReplicaKind::kSharded;
        again = again || node.op->closes_loop;
      }
    }
    std::vector<NodeId> roots = request_.train;
    for (std::size_t i = 0; i < n; ++i) {
      if (plan_.replica_kinds[i] == ReplicaKind::kSharded) roots.push_back(NodeId{static_cast<std::int32_t>(i)});
    }
    const std::vector<char> needed = ancestors(graph_, roots, true);
    for (std::size_t i = 0; i < n; ++i) {
      // A node that may be fed stays one, so that a feed reaches every device. So does a random op that draws for all
      // devices: separate draws would make mirrors differ.
      const Node& n = graph_.nodes()[i];
      const bool fed = n.op->name.starts_with("Placeholder") || n.op->name == "_Arg";
      if (needed[i] && !fed && !is_drawn(n) && plan_.replica_kinds[i] == ReplicaKind::kSingleton)
        plan_.replica_kinds[i] = ReplicaKind::kReplicated;
    }
    keep_state_once();
  }

  // A queue, a table or a file stays one, with the ops on it, as in the client's graph. Its outputs go to every device.
  // This does not hold inside loops and conditionals: every device has its own.
  void keep_state_once() {
    const std::vector<int> loops = loop_depths(graph_, order_);
    const Branches branches = find_branches(graph_, order_);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.replica_kinds[i] != ReplicaKind::kReplicated || loops[i] > 0 || branches.of[i] > 0) continue;
      if (n.op->calls == Calls::kNothing && has_shared_state(n) && !may_be_copied(n, ReplicaKind::kReplicated))
        plan_.replica_kinds[i] = ReplicaKind::kSingleton;
    }
  }

  // True if the node has, or works on, state other than a variable.
  bool has_shared_state(const Node& n) const {
    if (is_variable(n) || n.op->flow != Flow::kNone) return false;
    const auto elsewhere = [&](Endpoint e) { return is_handle(graph_, e) && !variable_behind(graph_, e); };
    return n.op->stateful || (!is_tensor_array_op(n) && std::any_of(n.inputs.begin(), n.inputs.end(), elsewhere));
  }

  static bool is_drawn(const Node& n) { return n.op->stateful && n.attrs.find("seed") != nullptr; }

  // Copied nodes may keep state in variables only: a copy of a queue or a table would be another queue or table.
  Status check_state() const {
    const std::vector<int> loops = loop_depths(graph_, order_);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.replica_kinds[i] == ReplicaKind::kSharded && n.op->flow == Flow::kLoopCond) {
        return cannot_combine(n, "how often the loop iterates depends on the examples in it");
      }
      if (plan_.replica_kinds[i] == ReplicaKind::kSingleton && loops[i] > 0 && is_drawn(n)) {
        return cannot_combine(n, "it draws for all of the batch in every device's loop");
      }
      if (plan_.replica_kinds[i] == ReplicaKind::kSingleton || !has_shared_state(n)) continue;
      if (plan_.replica_kinds[i] == ReplicaKind::kSharded && writes_variable(graph_, n)) {
        return cannot_combine(n, "every shard would write it");
      }
      if (may_be_copied(n, plan_.replica_kinds[i])) continue;
      return unimplemented("'", n.name, "' (", n.op->name, ") keeps state of its own, which copies would not share")
          .with_id("ARG-DP-008")
          .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
          .with_hint("feed what it gives, or train on one device");
    }
    return ok_status();
  }

  bool may_be_copied(const Node& n, ReplicaKind replica_kind) const {
    if (n.op->calls != Calls::kNothing) return false;  // what functions write is not seen
    if (is_tensor_array_op(n)) return true;            // every step has its own
    if (only_looks(n) || reads_table(n) || n.op->name == "Empty" || n.op->name.starts_with("_") || is_drawn(n))
      return true;
    // Mirrors of a generator's state stay equal if devices draw, but not if each shard does.
    if (replica_kind == ReplicaKind::kSharded && has_no_rule(graph_, n)) return false;
    return !n.inputs.empty() && is_handle(graph_, n.inputs[0]) && variable_behind(graph_, n.inputs[0]).has_value();
  }

  Graph& graph_;
  const ReplicationRequest& request_;
  ReplicationPlan plan_;
  PlacementKind gradients_ = PlacementKind::kPartialMean;  // how the gradients of the loss combine
  std::vector<NodeId> seeds_;                              // where they start
  std::vector<NodeId> order_;
};

}  // namespace

Result<ReplicationPlan> plan_replication(Graph& graph, const ReplicationRequest& request) {
  return ReplicationPlanner(graph, request).run();
}

}  // namespace argosy
