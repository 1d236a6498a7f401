// A replicated step from the sharding rules of ops, for what the analysis of losses and gradients refuses: maxima over
// the batch, pairs of examples, softmax along it.
//
//   graph ─► Sizes ─► RuleTable ─► resolve ─► verify ─► lower (argosy/sharding)
//
// It knows neither losses nor gradients. Its results are one device's, statistics of batch normalisation included. What
// no rule covers is gathered, and every device computes it.
#include <map>
#include <memory>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/lower/lower.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/strategy/batch_size/dynamic_batch.h"
#include "argosy/strategy/data_parallel/planned_collectives.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/data_parallel/replicated_graph.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

Status not_covered(std::string_view what) {
  return unimplemented(what, " of a step that is replicated by sharding rules").with_id("ARG-SHARD-007");
}

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

class ByRules final : public ReplicatedGraph {
 public:
  explicit ByRules(const Graph& graph) : base_(graph.clone()) {}
  Status build(const DataParallelOptions& options);

  Graph& replicated() override { return *graph_; }
  Value target(Value v) override;
  Result<Value> fetch(Endpoint e) override { return lowered_->global(e); }
  Result<Value> refresh_mirrors() override;
  PlacementKind loss_placement() const override;
  int shards() const override { return mesh_.axes[0].size; }
  bool is_sharded(NodeId) const override { return false; }  // variables are mirrored whole
  bool can_shard(std::int64_t examples) const override { return sizes_->covers(examples); }
  std::string summary() const override;
  std::vector<ReplicationNote> notes() const override;
  std::vector<PlannedCollective> collectives() const override;
  std::vector<PlannedWhole> whole() const override;
  Result<PlannedNode> planned(std::string_view node) const override;

 private:
  void run_everywhere(NodeId id);

  Graph base_;
  ReplicaLayout layout_;
  Mesh mesh_;  // the devices of its shards, one after the other
  std::unique_ptr<Sizes> sizes_;
  std::unique_ptr<RuleTable> rules_;
  Assignment assignment_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Lowered> lowered_;
  std::vector<Endpoint> losses_;
  std::map<NodeId, Value> everywhere_;  // by node whose copies cannot wait for each other: a node that runs all
};

Status ByRules::build(const DataParallelOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(layout_, make_layout(options));
  if (options.zero > 0) return not_covered("shards of slots");
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
      mirrors.push_back(
          {id, lowered_->copy(shard, id), base_.node(id).attrs.get<DType>("dtype"), layout_.devices[d]});
    }
  }
  return refresh(*graph_, mirrors);
}

std::vector<ReplicationNote> ByRules::notes() const {
  std::vector<ReplicationNote> all;  // the values are one device's
  for (const NodeId id : lowered_->coupled_turns()) {
    const Node& n = base_.node(id);
    all.push_back({ReplicationNote::Kind::kMemory, std::string(n.name), n.op->name,
                   str_cat("'", n.name, "' (", n.op->name,
                           "): it reads a sum over all micro-batches that is computed with variables: they run side by "
                           "side, and memory does not fall")});
  }
  return all;
}

PlacementKind ByRules::loss_placement() const {
  if (losses_.empty()) return PlacementKind::kReplicate;
  const Placement& p = assignment_.layout(losses_[0])[0];
  return p.is_shard() ? PlacementKind::kShard : p.is_partial() ? PlacementKind::kPartialSum : PlacementKind::kReplicate;
}

std::vector<PlannedCollective> ByRules::collectives() const {
  std::vector<PlannedCollective> all;
  for (const LoweredCollective& c : lowered_->collectives()) {
    all.push_back({.op = c.op,
                   .value = std::string(base_.node(c.value.node).name),
                   .values = c.values,
                   .bytes = c.bytes,
                   .why = c.why});
  }
  return all;
}

std::string ByRules::summary() const {
  std::string text = str_cat(shards(), shards() == 1 ? " device" : " devices", ", by sharding rules");
  if (shards() == 1) return text;
  const auto count = [](std::size_t n, const char* what) { return str_cat(n, " ", what, n == 1 ? "" : "s"); };
  std::size_t sums = 0, reduces = 0, gathers = 0;
  for (const LoweredCollective& c : lowered_->collectives()) {
    const bool reduce = c.op == "all-reduce";
    reduces += reduce ? 1 : 0;
    sums += reduce ? static_cast<std::size_t>(c.values) : 0;
    gathers += reduce ? 0 : 1;
  }
  if (reduces > 0) text += str_cat(", ", count(sums, "sum"), " in ", count(reduces, "all-reduce"));
  if (gathers > 0) text += str_cat(", ", count(gathers, "value"), " gathered");
  return text;
}

std::vector<PlannedWhole> ByRules::whole() const {
  std::vector<PlannedWhole> all;
  for (const WholeNode& w : assignment_.whole) {
    const Node& n = base_.node(w.node);
    all.push_back({.node = std::string(n.name), .op = n.op->name, .why = w.why});
  }
  return all;
}

Result<PlannedNode> ByRules::planned(std::string_view node) const {
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, find_original(base_, base_.size(), node));
  const Node& n = base_.node(id);
  std::string layouts;
  for (const Layout& l : assignment_.layouts[static_cast<std::size_t>(id.index)]) {
    layouts += (layouts.empty() ? "" : ", ") + to_string(l);
  }
  return PlannedNode{
      .node = std::string(n.name),
      .op = n.op->name,
      .copies = lowered_->is_copied(id) ? str_cat("one on each of ", shards(), " devices") : "one",
      .why = str_cat("its rule: ", to_string(rules_->rule(id)), layouts.empty() ? "" : "; it gives " + layouts)};
}

}  // namespace

Result<std::unique_ptr<ReplicatedGraph>> replicate_by_rules(const Graph& graph, const DataParallelOptions& options) {
  auto made = std::make_unique<ByRules>(graph);
  ARGOSY_RETURN_IF_ERROR(made->build(options));
  return std::unique_ptr<ReplicatedGraph>(std::move(made));
}

}  // namespace argosy
