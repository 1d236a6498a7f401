// A replicated step from the sharding rules of ops, for what the analysis of losses and gradients refuses: maxima over
// the batch, pairs of examples, softmax along it.
//
//   graph ─► Sizes ─► RuleTable ─► resolve ─► verify ─► lower (argosy/sharding)
//
// It knows neither losses nor gradients. Its results are one device's, statistics of batch normalisation included. What
// no rule covers is gathered, and every device computes it.
#include <map>
#include <memory>
#include <optional>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/lower/lower.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/batch_size/dynamic_batch.h"
#include "argosy/strategy/data_parallel/planned_collectives.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/data_parallel/replicated_graph.h"
#include "argosy/strategy/data_parallel/rules_report.h"
#include "argosy/strategy/sharding/decompose_batch_norm.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

Result<Sizes> find_sizes(const Graph& graph, SizesRequest request) {
  auto any = Sizes::find(graph, request);
  if (any.ok() || request.exactly) return any;
  // Written for one size of the batch: that of the examples.
  for (const NodeId id : request.batch) {
    const auto example = request.examples.find(id);
    if (example == request.examples.end() || example->second.rank() == 0) continue;
    request.exactly = example->second[0];
    return Sizes::find(graph, request);
  }
  return any;
}

Status losses_see_batch(const Graph& graph, const std::vector<NodeId>& batch, const std::vector<Endpoint>& losses) {
  if (losses.empty()) return ok_status();
  const std::vector<char> seen = descendants(graph, batch);
  for (const Endpoint loss : losses) {
    if (seen[static_cast<std::size_t>(loss.node.index)] != 0) continue;
    return invalid_argument("the loss '", graph.node(loss.node).name, "' does not depend on the batch")
        .with_id("ARG-DP-004");
  }
  return ok_status();
}

class ByRules final : public ReplicatedGraph {
 public:
  explicit ByRules(const Graph& graph) : base_(graph.clone()), original_size_(graph.size()) {}
  Status build(const DataParallelOptions& options);

  Graph& replicated() override { return *graph_; }
  Value target(Value v) override;
  Result<Value> fetch(Endpoint e) override;
  Result<Value> refresh_mirrors() override;
  PlacementKind loss_placement() const override;
  int shards() const override { return mesh_.axes[0].size; }
  bool is_sharded(NodeId original) const override {
    const auto node = static_cast<std::size_t>(original.index);
    return zero_ && node < zero_->is_sharded.size() && zero_->is_sharded[node] != 0;
  }
  bool can_shard(std::int64_t examples) const override { return sizes_->covers(examples); }
  bool can_feed(NodeId original, const Shape& shape) const override { return sizes_->fits(original, shape); }
  std::string summary() const override { return summary_of(told(), noted_); }
  std::vector<ReplicationNote> notes() const override { return noted_; }
  std::vector<PlannedCollective> collectives() const override;
  std::vector<PlannedWhole> whole() const override;
  Result<PlannedNode> planned(std::string_view node) const override;
  bool gathers() const override { return gathers_whole(told()); }

 private:
  void decompose_norms();
  void run_everywhere(NodeId id);
  void find_notes();
  void list_copies();
  Status shard_slots(const std::vector<NodeId>& targets);
  RulesStep told() const {
    return {base_,   original_size_,           *sizes_, *rules_, assignment_, *lowered_, layout_, losses_, replicas_,
            points_, zero_ ? &*zero_ : nullptr};
  }

  Graph base_;
  const std::int32_t original_size_;  // nodes after it were added
  Replaced replaced_;                 // statistics of batch norms, as plain means
  ReplicaLayout layout_;
  Mesh mesh_;  // the devices of its shards, one after the other
  std::unique_ptr<Sizes> sizes_;
  std::unique_ptr<RuleTable> rules_;
  Assignment assignment_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Lowered> lowered_;
  std::vector<Endpoint> losses_;
  Replicas replicas_;                   // copies, and what is summed over shards, by point
  std::vector<std::size_t> points_;     // the reshard of each sum
  std::optional<ShardedUpdates> zero_;  // under ZeRO-1
  std::vector<ReplicationNote> noted_;
  std::map<NodeId, Value> everywhere_;  // by node whose copies cannot wait for each other: a node that runs all
};

Result<Value> ByRules::fetch(Endpoint e) {
  const auto written = replaced_.find(e);
  return lowered_->global(written != replaced_.end() ? written->second : e);
}

// Statistics become plain means, of which sums travel. A fused norm would gather what it normalises.
void ByRules::decompose_norms() {
  Graph decomposed = base_.clone();
  auto replaced = decompose_batch_norms(decomposed);
  if (!replaced.ok()) return;  // one is in a loop
  for (const auto& [fused, written] : *replaced) decomposed.replace_with_noop(fused.node);
  base_ = std::move(decomposed);
  replaced_ = *std::move(replaced);
}

Status ByRules::build(const DataParallelOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(layout_, make_layout(options));
  if (options.sync_batch_norm && layout_.shards() > 1) decompose_norms();
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
  if (batch.empty()) batch = batch_placeholders(base_, roots);
  if (batch.empty()) {
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_hint("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }
  ARGOSY_RETURN_IF_ERROR(losses_see_batch(base_, batch, losses_));
  SizesRequest request{.batch = batch};
  for (const auto& [value, shape] : options.examples) request.examples.emplace(value.node(), shape);
  ARGOSY_ASSIGN_OR_RETURN(Sizes sizes, find_sizes(base_, std::move(request)));
  sizes_ = std::make_unique<Sizes>(std::move(sizes));
  ARGOSY_ASSIGN_OR_RETURN(RuleTable rules, RuleTable::make(base_, *sizes_));
  rules_ = std::make_unique<RuleTable>(std::move(rules));
  ARGOSY_ASSIGN_OR_RETURN(assignment_, resolve(base_, *sizes_, *rules_, mesh_, {.seeds = shard_feeds(batch, 0)}));
  ARGOSY_RETURN_IF_ERROR(verify(base_, *sizes_, *rules_, mesh_, assignment_));
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
  list_copies();
  if (options.zero == 1) ARGOSY_RETURN_IF_ERROR(shard_slots(run));
  find_notes();
  for (const NodeId id : run) run_everywhere(id);
  return ok_status();
}

// Copies of the end of a conditional or loop have no control inputs from outside. Another node stands for all of them.
void ByRules::run_everywhere(NodeId id) {
  if (!lowered_->is_copied(id)) return;
  const bool waits = base_.node(id).op->flow == Flow::kNone;
  std::vector<Value> all;
  for (const NodeId copy : lowered_->copies(id)) {
    if (waits && copy != id) graph_->add_control_input(id, copy);
    all.push_back(Value(graph_.get(), copy, Value::kControl));
  }
  if (waits || all.size() < 2) return;
  const auto on = graph_->device(kHost);
  everywhere_[id] = group(*graph_, all, str_cat("data_parallel/", base_.node(id).name));
}

Value ByRules::target(Value v) {
  const auto found = everywhere_.find(v.node());
  return found != everywhere_.end() ? found->second : v;
}

Result<Value> ByRules::refresh_mirrors() {
  std::vector<Mirror> mirrors;
  for (std::size_t d = 1; d < layout_.devices.size(); ++d) {
    const int shard = layout_.first_shard(static_cast<int>(d));
    for (const NodeId id : lowered_->variables()) {
      mirrors.push_back({id, lowered_->copy(shard, id), base_.node(id).attrs.get<DType>("dtype"), layout_.devices[d]});
    }
  }
  return refresh(*graph_, mirrors);
}

void ByRules::find_notes() {
  for (const NodeId id : lowered_->coupled_turns()) {  // all other values are one device's
    const Node& n = base_.node(id);
    noted_.push_back({ReplicationNote::Kind::kMemory, std::string(n.name), n.op->name,
                      str_cat("'", n.name, "' (", n.op->name,
                              "): it reads a sum over all micro-batches that is computed with variables: they run side "
                              "by side, and memory does not fall")});
  }
}

// Fills `replicas_` and `points_`.
void ByRules::list_copies() {
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

Status ByRules::shard_slots(const std::vector<NodeId>& targets) {
  ReplicatedStep step;
  for (std::int32_t i = 0; i < base_.size(); ++i) {
    const NodeId id{i};
    step.kinds.push_back(!lowered_->is_copied(id)     ? ReplicaKind::kSingleton
                         : lowered_->is_per_shard(id) ? ReplicaKind::kSharded
                                                      : ReplicaKind::kReplicated);
  }
  for (const std::size_t r : points_) step.points.push_back({assignment_.reshards[r].value});
  ARGOSY_ASSIGN_OR_RETURN(zero_, shard_updates(base_, step, layout_, targets, *graph_, replicas_));
  return ok_status();
}

PlacementKind ByRules::loss_placement() const {
  return losses_.empty() ? PlacementKind::kReplicate : combines_as(told(), losses_[0]);
}

std::vector<PlannedCollective> ByRules::collectives() const {
  if (layout_.devices.size() == 1) return {};  // turns of one device add up where they are
  return collectives_of(told());
}
std::vector<PlannedWhole> ByRules::whole() const {
  if (layout_.shards() == 1) return {};
  return whole_of(told());
}
Result<PlannedNode> ByRules::planned(std::string_view node) const {
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, find_original(base_, original_size_, node));
  return planned_of(told(), id);
}

}  // namespace

Result<std::unique_ptr<ReplicatedGraph>> replicate_by_rules(const Graph& graph, const DataParallelOptions& options) {
  auto made = std::make_unique<ByRules>(graph);
  ARGOSY_RETURN_IF_ERROR(made->build(options));
  return std::unique_ptr<ReplicatedGraph>(std::move(made));
}

}  // namespace argosy
