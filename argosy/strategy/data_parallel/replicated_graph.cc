#include "argosy/strategy/data_parallel/replicated_graph.h"

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/debug/debug.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/data_parallel/batch_statistics.h"
#include "argosy/strategy/data_parallel/mirrors.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

Result<Sizes> find_sizes(const Graph& graph, SizesRequest request) {
  auto any = Sizes::find(graph, request);
  if (request.exactly) return any;
  // Written for one size of the batch, or for some (pairs of examples): that of the examples.
  for (const NodeId id : request.batch) {
    const auto example = request.examples.find(id);
    if (example == request.examples.end() || example->second.rank() == 0) continue;
    const std::int64_t own = example->second[0];
    if (any.ok() && (own < 2 || any->covers(own))) break;
    request.exactly = own;
    if (auto exact = Sizes::find(graph, request); exact.ok() || !any.ok()) any = std::move(exact);
    break;
  }
  if (any.ok()) return any;
  return invalid_argument("what brings the batch cannot all have as many examples: ", any.status().message())
      .with_id("ARG-DP-011")
      .with_hint("sizes of their own for placeholders that bring no examples: [10], not [None]");
}

// Returns the losses that depend on the batch. Others are terms that are equal on all devices, such as a weight decay.
// ARG-DP-004: no loss depends on the batch.
Result<std::vector<Endpoint>> losses_of_batch(const Graph& graph, const std::vector<NodeId>& batch,
                                              std::vector<Endpoint> losses) {
  if (losses.empty()) return losses;
  const std::vector<char> seen = descendants(graph, batch);
  const Endpoint first = losses.front();
  std::erase_if(losses, [&](Endpoint loss) { return seen[static_cast<std::size_t>(loss.node.index)] == 0; });
  if (!losses.empty()) return losses;
  return invalid_argument("the loss '", graph.node(first.node).name, "' does not depend on the batch")
      .with_id("ARG-DP-004");
}

// For batch inputs that nobody named. ARG-DP-011: their examples have unequal numbers of rows.
Status check_examples(const Graph& graph, const std::vector<NodeId>& batch, const std::map<NodeId, Shape>& examples) {
  const auto rows = [&](NodeId id) -> std::optional<std::int64_t> {
    const auto found = examples.find(id);
    return found == examples.end() || found->second.rank() == 0 ? std::nullopt : std::optional(found->second[0]);
  };
  std::optional<NodeId> first;
  for (const NodeId id : batch) {
    if (!rows(id)) continue;
    if (!first) first = id;
    if (rows(id) == rows(*first)) continue;
    return invalid_argument("'", graph.node(id).name, "' has ", *rows(id), " rows, and '", graph.node(*first).name,
                            "' has ", *rows(*first), ": not both bring the batch")
        .with_id("ARG-DP-011")
        .with_hint("name what brings the batch in batch_inputs");
  }
  return ok_status();
}

// Adds checks that end a step whose batch inputs are fed with unequal numbers of rows. The sizes of shards follow from
// the first input, and would weight means of the others wrongly.
Status require_equal_rows(Graph& graph, const std::vector<NodeId>& batch) {
  const auto uses = graph.consumers();
  const auto root = graph.name_scope("");
  const auto scope = graph.name_scope("data_parallel/rows");
  const auto on = graph.device(kHost);
  const auto rows = [&](NodeId id) { return slice(shape(Value(&graph, id, 0), DType::kInt64), {0}, {1}); };
  for (std::size_t i = 1; i < batch.size(); ++i) {
    const Value own = rows(batch[i]), first = rows(batch[0]);
    const Value scalar = constant(graph, Tensor::vector<std::int32_t>({}));
    const std::string why = str_cat("rows of '", graph.node(batch[i]).name, "' and '", graph.node(batch[0]).name,
                                    "' differ: name what brings the batch in DataParallelOptions::batch_inputs");
    const Value equals = reshape(equal(own, first), scalar);
    const Value holds = assert_true(equals, {constant(graph, Tensor::scalar(why)), own, first});
    if (!holds.valid()) break;
    for (const Graph::Use& use : uses[batch[i].index]) {
      if (use.input >= 0) graph.add_control_input(use.node, holds.node());
    }
  }
  return Status(graph.status());
}

Result<NodeId> find_original(const Graph& graph, std::int32_t original, std::string_view name) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < original; ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.name == name) return NodeId{i};
    names.emplace_back(n.name);
  }
  const std::string near = nearest_word(name, names);
  return not_found("the model has no node \"", name, "\"; it has ", original, " nodes")
      .with_id("ARG-SHARD-005")
      .with_hint(near.empty() ? std::string("a name from --log-device-placement") : near);
}

}  // namespace

Result<Value> ReplicatedGraph::fetch(Endpoint e) {
  const auto written = replaced_.find(e);
  return lowered_->global(written != replaced_.end() ? written->second : e);
}

// Replaces fused batch norms by plain ops, whose means become sums over shards. A fused norm would gather its input.
Status ReplicatedGraph::decompose_norms() {
  ARGOSY_ASSIGN_OR_RETURN(replaced_, decompose_batch_norms(base_));
  for (const auto& [fused, written] : replaced_) base_.replace_with_noop(fused.node);
  return ok_status();
}

Status ReplicatedGraph::build(const DataParallelOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(layout_, make_layout(options));
  // Without losses nobody knows which gradients follow from a shard's own statistics: all are the global batch's.
  const bool global_statistics = options.sync_batch_norm || options.losses.empty();
  if (global_statistics && layout_.shards() > 1) ARGOSY_RETURN_IF_ERROR(decompose_norms());
  ARGOSY_ASSIGN_OR_RETURN(Replaced given, pass_on_given_statistics(base_));
  replaced_.merge(given);
  if (options.zero < 0 || options.zero > 1) {
    return invalid_argument("zero is ", options.zero, "; 0 keeps slots on every device, 1 shards them");
  }
  mesh_ = {.axes = {{.name = "data", .size = layout_.shards(), .weights = layout_.weights}}, .devices = {}};
  for (const int d : layout_.device_of) mesh_.devices.push_back(layout_.devices[static_cast<std::size_t>(d)]);
  std::vector<NodeId> roots, batch;
  for (const Value& v : options.train) roots.push_back(v.node());
  const std::vector<NodeId> run = roots;
  for (const Value& v : options.losses) {
    if (!v.valid()) continue;
    losses_.push_back(v.endpoint());
    roots.push_back(v.node());
  }
  for (std::int32_t i = 0; roots.empty() && i < base_.size(); ++i) roots.push_back(NodeId{i});
  for (const Value& v : options.batch_inputs) batch.push_back(v.node());
  const bool named = !batch.empty();
  if (!named) batch = batch_placeholders(base_, roots);
  if (batch.empty()) {
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_hint("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }
  ARGOSY_ASSIGN_OR_RETURN(losses_, losses_of_batch(base_, batch, std::move(losses_)));
  SizesRequest request{.batch = batch};
  for (const auto& [value, shape] : options.examples) request.examples.emplace(value.node(), shape);
  if (!named) ARGOSY_RETURN_IF_ERROR(check_examples(base_, batch, request.examples));
  ARGOSY_ASSIGN_OR_RETURN(Sizes sizes, find_sizes(base_, std::move(request)));
  sizes_ = std::make_unique<Sizes>(std::move(sizes));
  ARGOSY_ASSIGN_OR_RETURN(RuleTable rules, RuleTable::make(base_, *sizes_));
  rules_ = std::make_unique<RuleTable>(std::move(rules));
  if (!global_statistics && layout_.shards() > 1) {
    local_ = local_statistics(base_, sizes_->order(), losses_);
  }
  ARGOSY_RETURN_IF_ERROR(assign(batch));
  graph_ = std::make_unique<Graph>(base_.clone());
  ARGOSY_ASSIGN_OR_RETURN(lowered_, Lowered::make(*graph_, {.base = &base_,
                                                            .sizes = sizes_.get(),
                                                            .rules = rules_.get(),
                                                            .assignment = &assignment_,
                                                            .mesh = &mesh_,
                                                            .batch = batch,
                                                            .run = run,
                                                            .block = layout_.block,
                                                            .first_bucket_bytes = options.first_bucket_bytes,
                                                            .bucket_bytes = options.bucket_bytes}));
  if (!named && layout_.shards() > 1) ARGOSY_RETURN_IF_ERROR(require_equal_rows(*graph_, batch));
  ARGOSY_RETURN_IF_ERROR(check_combination(options.loss_placement));
  list_copies();
  if (options.zero == 1) ARGOSY_RETURN_IF_ERROR(shard_slots(run));
  find_notes();
  for (const NodeId id : run) run_everywhere(id);
  return ok_status();
}

Status ReplicatedGraph::assign(const std::vector<NodeId>& batch) {
  ResolveRequest request{.seeds = shard_feeds(batch, 0), .local = local_};
  ARGOSY_ASSIGN_OR_RETURN(assignment_, resolve(base_, *sizes_, *rules_, mesh_, request));
  if (keep_own_statistics(base_, assignment_, local_)) {
    request.local = local_;
    ARGOSY_ASSIGN_OR_RETURN(assignment_, resolve(base_, *sizes_, *rules_, mesh_, request));
  }
  // Gradients through such values are sums over the global batch. They cannot be told apart from gradients of a shard's
  // own statistics. So no shard keeps its own.
  if (!local_.of.empty() && (trains_through_global_values(base_, sizes_->order(), assignment_, losses_) ||
                             combines_own_gradients(base_, sizes_->order(), assignment_, local_))) {
    local_ = request.local = {};
    ARGOSY_ASSIGN_OR_RETURN(assignment_, resolve(base_, *sizes_, *rules_, mesh_, request));
  }
  return verify(base_, *sizes_, *rules_, mesh_, assignment_, {.local = local_});
}

// ARG-DP-002: the loss does not combine as the caller asked.
Status ReplicatedGraph::check_combination(std::optional<PlacementKind> asked) const {
  if (!asked || losses_.empty() || layout_.shards() == 1) return ok_status();
  const PlacementKind is = loss_placement();
  const bool mean = is == PlacementKind::kPartialMean || is == PlacementKind::kPartialWeighted;
  if (*asked == is || (mean && *asked == PlacementKind::kPartialMean)) return ok_status();
  return invalid_argument("the loss '", base_.node(losses_[0].node).name, "' is ",
                          mean                               ? "a mean"
                          : is == PlacementKind::kPartialSum ? "a sum"
                                                             : "neither a sum nor a mean",
                          " over the batch, and is to be combined as a ",
                          *asked == PlacementKind::kPartialSum ? "sum" : "mean")
      .with_id("ARG-DP-002")
      .with_hint("leave out --combine: the graph says how its loss combines");
}

// Makes target() run all copies of the node: the first copy waits for the others. Two kinds of copies cannot wait:
// those that end a conditional or loop, and those of turns. For them a new node waits for all copies.
void ReplicatedGraph::run_everywhere(NodeId id) {
  if (!lowered_->is_copied(id)) return;
  const bool turns = layout_.has_turns() && lowered_->is_per_shard(id);
  const bool waits = base_.node(id).op->flow == Flow::kNone && !turns;
  std::vector<Value> all;
  for (const NodeId copy : lowered_->copies(id)) {
    if (waits && copy != id) graph_->add_control_input(id, copy);
    all.push_back(Value(graph_.get(), copy, Value::kControl));
  }
  if (waits || all.size() < 2) return;
  const auto on = graph_->device(kHost);
  everywhere_[id] = group(*graph_, all, str_cat("data_parallel/", base_.node(id).name));
}

Value ReplicatedGraph::target(Value v) {
  const auto found = everywhere_.find(v.node());
  return found != everywhere_.end() ? found->second : v;
}

Result<Value> ReplicatedGraph::refresh_mirrors() {
  std::vector<Mirror> mirrors;
  for (std::size_t d = 1; d < layout_.devices.size(); ++d) {
    const int shard = layout_.first_shard(static_cast<int>(d));
    for (const NodeId id : lowered_->variables()) {
      if (is_sharded(id)) continue;  // a write of the whole slot has written every shard
      mirrors.push_back({id, lowered_->copy(shard, id), base_.node(id).attrs.get<DType>("dtype"), layout_.devices[d]});
    }
  }
  return refresh(*graph_, mirrors);
}

void ReplicatedGraph::find_notes() {
  for (std::int32_t i = 0; i < base_.size() && !local_.of.empty(); ++i) {
    const Node& n = base_.node(NodeId{i});
    if (local_.of[static_cast<std::size_t>(i)] == 0) continue;
    noted_.push_back(
        {ReplicationNote::Kind::kStatistics, std::string(n.name), n.op->name,
         str_cat("'", n.name, "' (", n.op->name, "): statistics are those of each ",
                 layout_.has_turns() ? "micro-batch" : "device's shard of the batch", " (try: --sync-batch-norm)")});
  }
  for (const NodeId id : lowered_->coupled_turns()) {  // all other values are one device's
    const Node& n = base_.node(id);
    noted_.push_back({ReplicationNote::Kind::kMemory, std::string(n.name), n.op->name,
                      str_cat("'", n.name, "' (", n.op->name,
                              "): it reads a sum over all micro-batches that is computed with variables: they run side "
                              "by side, and memory does not fall")});
  }
}

// Fills in `replicas_` and `points_`.
void ReplicatedGraph::list_copies() {
  const auto copies = [&](int shard) {
    std::vector<NodeId> all;
    for (std::int32_t i = 0; i < base_.size(); ++i) all.push_back(lowered_->copy(shard, NodeId{i}));
    return all;
  };
  for (int s = 0; s < shards(); ++s) replicas_.shard.push_back(copies(s));
  const int devices = static_cast<int>(layout_.devices.size());
  for (int d = 0; d < devices; ++d)
    replicas_.device.push_back(replicas_.shard[static_cast<std::size_t>(layout_.first_shard(d))]);
  replicas_.sums.resize(layout_.devices.size());
  for (const LoweredSums& made : lowered_->sums()) {
    std::vector<int> members;
    for (std::size_t m = 0; m < made.reshards.size(); ++m) {
      members.push_back(static_cast<int>(points_.size()));
      points_.push_back(made.reshards[m]);
      for (int d = 0; d < devices; ++d) {
        replicas_.sums[static_cast<std::size_t>(d)].push_back(
            made.sums[m][static_cast<std::size_t>(layout_.first_shard(d))]);
      }
    }
    if (!made.travel) continue;
    replicas_.buckets.push_back(std::move(members));
    replicas_.bucket_bytes.push_back(made.bytes);
  }
}

Status ReplicatedGraph::shard_slots(const std::vector<NodeId>& targets) {
  ReplicationFacts step;
  for (std::int32_t i = 0; i < base_.size(); ++i) {
    const NodeId id{i};
    step.kinds.push_back(!lowered_->is_copied(id)     ? ReplicaKind::kSingleton
                         : lowered_->is_per_shard(id) ? ReplicaKind::kSharded
                                                      : ReplicaKind::kReplicated);
  }
  for (const std::size_t r : points_) step.points.push_back(assignment_.reshards[r].value);
  ARGOSY_ASSIGN_OR_RETURN(zero_, shard_updates(base_, step, layout_, targets, *graph_, replicas_));
  return ok_status();
}

PlacementKind ReplicatedGraph::loss_placement() const {
  return losses_.empty() ? PlacementKind::kReplicate : combines_as(report_input(), losses_[0]);
}

std::vector<PlannedCollective> ReplicatedGraph::collectives() const {
  if (layout_.devices.size() == 1) return {};  // turns of one device add up where they are
  return collectives_of(report_input());
}
std::vector<PlannedWhole> ReplicatedGraph::whole() const {
  if (layout_.shards() == 1) return {};
  return whole_of(report_input());
}
Result<PlannedNode> ReplicatedGraph::planned(std::string_view node) const {
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, find_original(base_, original_size_, node));
  return planned_of(report_input(), id);
}

}  // namespace argosy
