// The first way: what losses and gradients are is found in the graph.
#include <algorithm>
#include <map>

#include "argosy/op/definition/batch_rule.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/data_parallel/copies/coupled_turns.h"
#include "argosy/strategy/data_parallel/planned_collectives.h"
#include "argosy/strategy/data_parallel/replicas.h"
#include "argosy/strategy/data_parallel/replicated_graph.h"
#include "argosy/strategy/data_parallel/replication_plan.h"
#include "argosy/strategy/data_parallel/step_summary.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

ReplicatedStep step_of(const ReplicationPlan& plan) {
  ReplicatedStep step{.kinds = plan.replica_kinds, .points = {}};
  for (const CollectivePoint& c : plan.collectives) step.points.push_back({c.value, c.kind == PlacementKind::kShard});
  return step;
}

struct ByAnalysis final : ReplicatedGraph {
  Graph base;                  // the graph that the plan describes
  std::int32_t original_size;  // of the graph that the caller gave
  std::unique_ptr<Graph> graph;
  ReplicationPlan plan;
  ReplicaLayout layout;
  Replicas replicas;
  std::optional<ShardedUpdates> zero;  // under ZeRO-1
  std::vector<Endpoint> global;        // values with a collective: global already
  std::vector<char>
      cross_example;  // by node of `base`: shards come to other numbers (cross_example_check.h); empty: not asked
  std::vector<Endpoint> losses;
  std::optional<PlacementKind> asked;
  std::vector<ReplicationNote> noted;
  std::map<Endpoint, Value> fetched;
  std::map<NodeId, Value> everywhere;  // by node whose copies cannot wait for each other: a node that runs all

  BatchPlacement placement(Endpoint e) const {
    if (asked && std::find(losses.begin(), losses.end(), e) != losses.end()) return {.kind = *asked};
    return batch_placement_of(base, plan.axes, e, global);
  }
  Graph& replicated() override { return *graph; }
  Value target(Value v) override;
  Result<Value> fetch(Endpoint e) override { return global_batch(e); }
  Result<Value> refresh_mirrors() override;
  PlacementKind loss_placement() const override;
  int shards() const override { return layout.shards(); }
  bool is_sharded(NodeId original) const override {
    const auto node = static_cast<std::size_t>(original.index);
    return zero && node < zero->is_sharded.size() && zero->is_sharded[node] != 0;
  }
  bool can_shard(std::int64_t examples) const override;
  bool can_feed(NodeId, const Shape&) const override { return true; }
  std::string summary() const override;
  std::vector<ReplicationNote> notes() const override { return noted; }
  std::vector<PlannedCollective> collectives() const override;
  std::vector<PlannedWhole> whole() const override;
  Result<PlannedNode> planned(std::string_view node) const override;
  bool gathers() const override { return false; }

  Value shard(Endpoint e, int s) { return Value(graph.get(), replicas.shard[s][e.node.index], e.index); }

  Result<Value> global_batch(Endpoint e);
  Result<Value> reduce_shards(Endpoint e);
  bool may_join(Endpoint e) const;
  Value join(Endpoint e);
  Result<Value> recompute(Endpoint e, const std::string& why);
  bool may_flow_again(const Node& n) const;
  Value scaled(Endpoint e, int s, const BatchPlacement& c, Value total);
  void run_everywhere(NodeId id);
  void find_notes();
  bool draws_otherwise(NodeId id) const;
};

// Copies of the end of a conditional or loop have no control inputs from outside. Another node stands for all of them.
void ByAnalysis::run_everywhere(NodeId id) {
  const auto& copies = plan.replica_kinds[id.index] == ReplicaKind::kSharded ? replicas.shard : replicas.device;
  const bool waits = base.node(id).op->flow == Flow::kNone;
  std::vector<Value> all;
  for (std::size_t k = waits ? 1 : 0; k < copies.size(); ++k) {
    const NodeId copy = copies[k][id.index];
    if (copy.index < 0) continue;
    if (waits) graph->add_control_input(id, copy);
    if (!waits) all.push_back(Value(graph.get(), copy, Value::kControl));
  }
  if (all.size() < 2) return;
  const auto on = graph->device(kHost);
  everywhere[id] = group(*graph, all, str_cat("data_parallel/", base.node(id).name));
}

// True for random numbers that each shard draws from its own stream. (Unseeded ones differ from run to run anyway.)
bool ByAnalysis::draws_otherwise(NodeId id) const {
  const Node& n = base.node(id);
  const auto *seed = n.attrs.find_as<std::int64_t>("seed"), *seed2 = n.attrs.find_as<std::int64_t>("seed2");
  const bool has_seeds = seed != nullptr && seed2 != nullptr;
  const bool draws = n.op->batch_rule == BatchRule::kRandom || (has_seeds && n.op->stateful);
  if (!draws || n.op->draws_whole_stream || (has_seeds && *seed == 0 && *seed2 == 0)) return false;
  return graph->node(replicas.shard[1][id.index]).op == n.op;  // else its shard of one draw for the batch
}

void ByAnalysis::find_notes() {
  using Kind = ReplicationNote::Kind;
  if (layout.shards() < 2) return;
  const auto add = [&](Kind kind, const Node& n, std::string_view what) {
    noted.push_back({kind, std::string(n.name), n.op->name, str_cat("'", n.name, "' (", n.op->name, "): ", what)});
  };
  const std::vector<char> coupled = layout.has_turns() ? nodes_that_couple_turns(base, plan) : std::vector<char>();
  for (std::int32_t i = 0; i < base.size(); ++i) {
    const Node& n = base.node(NodeId{i});
    if (plan.replica_kinds[i] != ReplicaKind::kSharded) continue;
    if (draws_otherwise(NodeId{i})) {
      add(Kind::kDraws, n,
          layout.accumulate > 1 ? "draws depend on the number of micro-batches and devices"
                                : "draws depend on the number of devices");
    }
    if (n.op->batch_rule == BatchRule::kStatistics && n.attrs.get_or("is_training", false)) {
      add(Kind::kStatistics, n,
          layout.has_turns() ? "statistics are those of each micro-batch (try: --sync-batch-norm)"
                             : "statistics are those of each device's shard of the batch (try: --sync-batch-norm)");
    }
    if (!coupled.empty() && coupled[i]) {
      add(Kind::kMemory, n,
          "it reads a sum over all micro-batches that is computed with variables: they run side by side, and memory "
          "does "
          "not fall");
    }
  }
}

PlacementKind ByAnalysis::loss_placement() const {
  return plan.losses.empty() ? PlacementKind::kReplicate : plan.losses[0].kind;
}
bool ByAnalysis::can_shard(std::int64_t examples) const {
  if (!plan.needs_nonempty_shards) return true;
  for (int s = 0; s < layout.shards(); ++s) {
    const auto rows = shard_batch(examples, layout.weights, s);
    if (rows.ok() && rows->first == rows->second) return false;
  }
  return true;
}
Value ByAnalysis::target(Value v) {
  const auto found = everywhere.find(v.node());
  return found != everywhere.end() ? found->second : v;
}

Result<Value> ByAnalysis::global_batch(Endpoint e) {
  if (const auto written = plan.replaced.find(e); written != plan.replaced.end()) e = written->second;
  if (plan.replica_kinds[e.node.index] != ReplicaKind::kSharded || layout.shards() == 1) return graph->value(e);
  if (const auto known = fetched.find(e); known != fetched.end()) return known->second;
  const auto point = std::find(global.begin(), global.end(), e);
  Result<Value> made =
      point != global.end() ? graph->value(replicas.sums[0][point - global.begin()]) : reduce_shards(e);
  if (made.ok()) fetched[e] = *made;
  return made;
}

Result<Value> ByAnalysis::refresh_mirrors() {
  std::vector<Mirror> mirrors;
  for (std::size_t d = 1; d < layout.devices.size(); ++d) {
    for (std::int32_t i = 0; i < base.size(); ++i) {
      const Node& n = base.node(NodeId{i});
      if (plan.replica_kinds[i] != ReplicaKind::kReplicated || !is_variable(n)) continue;
      if (zero && zero->is_sharded[i]) continue;  // a write of the whole slot has written every shard
      mirrors.push_back({NodeId{i}, replicas.device[d][i], n.attrs.get<DType>("dtype"), layout.devices[d]});
    }
  }
  return refresh(*graph, mirrors);
}

// True if the rows of every example are known and, where the batch repeats, the sizes of the other axes.
bool ByAnalysis::may_join(Endpoint e) const {
  const std::int64_t repeats = plan.axes.repeats(e);
  if (repeats == 0 || !plan.axes.preserves_example_order(e.node)) return false;
  const PartialShape& shape = base.shape(e);
  for (int i = 0; repeats > 1 && i < shape.rank(); ++i) {
    if (i != plan.axes.axis(e) && shape[i] < 0) return false;
  }
  return repeats == 1 || shape.has_rank();
}

// Joins the rows of all shards in the order of the batch, within every repeat.
Value ByAnalysis::join(Endpoint e) {
  const int axis = plan.axes.axis(e);
  const std::int64_t repeats = plan.axes.repeats(e);
  std::vector<std::int64_t> joined_shape;
  for (int i = 0; repeats > 1 && i < base.shape(e).rank(); ++i)
    joined_shape.push_back(i == axis ? -1 : base.shape(e)[i]);
  std::vector<std::int64_t> split_shape = joined_shape;
  if (repeats > 1) split_shape.insert(split_shape.begin() + axis, repeats);
  std::vector<Value> parts;
  for (int s = 0; s < layout.shards(); ++s)
    parts.push_back(repeats > 1 ? reshape(shard(e, s), split_shape) : shard(e, s));
  parts.push_back(constant(*graph, std::int32_t{repeats > 1 ? axis + 1 : axis}));
  const Value joined = graph->add("ConcatV2", parts);
  return repeats > 1 ? reshape(joined, joined_shape) : joined;
}

// The term of shard s in the sum.
Value ByAnalysis::scaled(Endpoint e, int s, const BatchPlacement& c, Value total) {
  const Value v = shard(e, s);
  if (c.kind == PlacementKind::kPartialMean) {
    return scale_nonempty(v, shard_weight(Value(graph.get(), plan.inputs[0], 0), layout.weights, s, v.dtype()));
  }
  if (c.kind == PlacementKind::kPartialWeighted)
    return scale_nonempty(v, graph->add("RealDiv", {shard(c.weight, s), total}));
  return v;
}

Result<Value> ByAnalysis::reduce_shards(Endpoint e) {
  if (!cross_example.empty() && cross_example[e.node.index])
    return recompute(e, "shards would compare examples with fewer others");
  const BatchPlacement c = placement(e);
  const std::string& name = base.node(e.node).name;
  if (c.kind == PlacementKind::kUnknown) return recompute(e, c.why);
  if (c.kind == PlacementKind::kShard && !may_join(e)) return recompute(e, "its rows are not the examples'");
  const auto on = graph->device(kHost);
  const auto scope = graph->name_scope(str_cat(name, "/global_batch"));
  std::vector<Value> parts;
  if (c.kind == PlacementKind::kShard) {
    const Value joined = join(e);
    return joined.valid() ? Result<Value>(joined) : graph->status();
  }
  if (c.kind == PlacementKind::kReplicate) return shard(e, 0);
  Value total;
  if (c.kind == PlacementKind::kPartialWeighted) {
    std::vector<Value> weights;
    for (int s = 0; s < layout.shards(); ++s) weights.push_back(shard(c.weight, s));
    total = graph->add("AddN", weights);
  }
  for (int s = 0; s < layout.shards(); ++s) parts.push_back(scaled(e, s, c, total));
  Value sum = graph->add("AddN", parts);
  // Terms that every shard added and that count once.
  for (const Endpoint once : c.once) {
    const Value extra = plan.replica_kinds[once.node.index] == ReplicaKind::kSharded
                            ? shard(once, 0)
                            : Value(graph.get(), once.node, once.index);
    sum = graph->add("Sub", {sum, graph->add("Mul", {extra, constant_like(extra, layout.shards() - 1)})});
  }
  if (!sum.valid()) return graph->status();
  return sum;
}

// Not inside loops. The end of a conditional is read from the branch that was taken.
bool ByAnalysis::may_flow_again(const Node& n) const {
  const auto comes_back = [&](Endpoint from) { return base.node(from.node).op->closes_loop; };
  return n.op->flow == Flow::kNone ||
         (n.op->flow == Flow::kMerge && std::none_of(n.inputs.begin(), n.inputs.end(), comes_back));
}

// Recomputes the value from global inputs: summaries of losses, roots of means.
Result<Value> ByAnalysis::recompute(Endpoint e, const std::string& why) {
  const Node& n = base.node(e.node);
  const bool keeps_state = n.op->stateful && !may_be_repeated(n);
  if (keeps_state || !may_flow_again(n) || n.op->calls != Calls::kNothing || n.inputs.empty()) {
    return invalid_argument("cannot tell how '", n.name, "' combines over the batch: ", why)
        .with_id("ARG-DP-006")
        .with_hint("fetch values per sample, or sums and counts, and combine those");
  }
  NodeSpec spec{.op = n.op->name, .attrs = n.attributes(), .device = kHost};
  for (const Endpoint from : n.inputs) {
    ARGOSY_ASSIGN_OR_RETURN(const Value input, global_batch(from));
    spec.inputs.push_back(input.endpoint());
  }
  spec.name = graph->unique_name(str_cat(n.name, "/global_batch"));
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph->add_node(std::move(spec)));
  for (const NodeId c : n.controls) {
    const ReplicaKind replica_kind = plan.replica_kinds[c.index];
    if (replica_kind == ReplicaKind::kSingleton) graph->add_control_input(made, c);
    if (replica_kind == ReplicaKind::kSingleton) continue;
    for (const auto& copies : replica_kind == ReplicaKind::kSharded ? replicas.shard : replicas.device) {
      graph->add_control_input(made, copies[c.index]);
    }
  }
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(n.output_dtypes.size()); ++k) {
    fetched.emplace(Endpoint{e.node, k}, Value(graph.get(), made, k));
  }
  return Value(graph.get(), made, e.index);
}

std::vector<PlannedCollective> ByAnalysis::collectives() const {
  if (layout.devices.size() == 1) return {};  // turns of one device add up where they are
  return planned_collectives(base, original_size, plan, replicas, zero ? &*zero : nullptr);
}
std::vector<PlannedWhole> ByAnalysis::whole() const {
  if (layout.shards() == 1) return {};
  return planned_whole(base, original_size, plan);
}
Result<PlannedNode> ByAnalysis::planned(std::string_view node) const {
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, find_original(base, original_size, node));
  const bool sharded = plan.replica_kinds[id.index] == ReplicaKind::kSharded;
  const bool has_output = !base.node(id).output_dtypes.empty();
  return planned_node(base, plan, layout, id,
                      sharded && has_output ? placement({id, 0}) : BatchPlacement{.why = "it has no value"});
}

std::string ByAnalysis::summary() const {
  StepSummary told{.layout = layout, .joined = replicas.joined, .zero = zero ? &*zero : nullptr, .notes = noted};
  for (const BatchPlacement& loss : plan.losses) told.losses.push_back(loss.kind);
  const auto scattered = static_cast<std::size_t>(zero ? zero->sums : 0);
  told.sums = plan.collectives.size() - static_cast<std::size_t>(replicas.joined) - scattered;
  told.bucket_bytes = replicas.bucket_bytes;
  return summary_text(told);
}

}  // namespace

Result<std::unique_ptr<ReplicatedGraph>> replicate_by_analysis(const Graph& graph, const DataParallelOptions& options) {
  auto impl = std::make_unique<ByAnalysis>();
  impl->base = graph.clone();
  impl->original_size = graph.size();
  ARGOSY_ASSIGN_OR_RETURN(impl->layout, make_layout(options));
  ReplicationRequest request{.loss_placement = options.loss_placement,
                             .sync_batch_norm = options.sync_batch_norm,
                             .sharded = impl->layout.shards() > 1};
  for (const Value& v : options.losses) {
    if (v.valid()) request.losses.push_back(v.endpoint());
  }
  if (options.gradients.seed.valid()) {
    if (request.losses.size() != 1)
      return invalid_argument("given gradients need one loss, not ", request.losses.size());
    request.seed = options.gradients.seed.node();
    for (const Value& v : options.gradients.of_variables) {
      if (v.valid()) request.gradients.push_back(v.endpoint());
    }
  }
  for (const Value& v : options.train) request.train.push_back(v.node());
  for (const Value& v : options.batch_inputs) request.inputs.push_back(v.node());
  for (const auto& [value, shape] : options.examples) request.examples.emplace(value.node(), shape);
  impl->losses = request.losses;
  impl->asked = request.loss_placement;
  ARGOSY_ASSIGN_OR_RETURN(impl->plan, plan_replication(impl->base, request));
  for (const CollectivePoint& c : impl->plan.collectives) impl->global.push_back(c.value);
  if (impl->layout.shards() > 1 && (!impl->plan.seeds.empty() || request.losses.empty())) {
    std::vector<NodeId> losses;
    for (const Endpoint e : request.losses) losses.push_back(e.node);
    ARGOSY_ASSIGN_OR_RETURN(impl->cross_example, find_cross_example_nodes(impl->base, impl->plan.axes, losses,
                                                                          impl->plan.seeds, impl->global));
  }
  impl->graph = std::make_unique<Graph>(impl->base.clone());
  ARGOSY_ASSIGN_OR_RETURN(impl->replicas, replicate(*impl->graph, impl->plan, impl->layout));
  if (options.zero < 0 || options.zero > 1) {
    return invalid_argument("zero is ", options.zero, "; 0 keeps slots on every device, 1 shards them");
  }
  if (options.zero == 1) {
    ARGOSY_ASSIGN_OR_RETURN(impl->zero, shard_updates(impl->base, step_of(impl->plan), impl->layout, request.train,
                                                      *impl->graph, impl->replicas));
  }
  impl->find_notes();
  // Running a training op by its name runs it on every device.
  for (const NodeId id : request.train) impl->run_everywhere(id);
  return std::unique_ptr<ReplicatedGraph>(std::move(impl));
}

}  // namespace argosy
