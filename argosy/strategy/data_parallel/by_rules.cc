#include "argosy/strategy/data_parallel/by_rules.h"

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/strategy/batch_size/dynamic_batch.h"
#include "argosy/strategy/data_parallel/replica_layout.h"

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

}  // namespace

bool ReplicatedByRules::may_replace(const Status& refused) {
  // No batch, or none that the loss depends on; micro-batches.
  constexpr std::string_view kRequests[] = {"ARG-DP-001", "ARG-DP-004", "ARG-DP-013"};
  return std::string_view(refused.id()).starts_with("ARG-DP-") &&
         std::find(std::begin(kRequests), std::end(kRequests), refused.id()) == std::end(kRequests);
}

Result<std::unique_ptr<ReplicatedByRules>> ReplicatedByRules::make(const Graph& graph,
                                                                   const DataParallelOptions& options) {
  std::unique_ptr<ReplicatedByRules> made(new ReplicatedByRules(graph));
  ARGOSY_RETURN_IF_ERROR(made->build(options));
  return made;
}

Status ReplicatedByRules::build(const DataParallelOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const ReplicaLayout layout, make_layout(options));
  if (layout.has_turns() || options.shards > 0) return not_covered("several shards a device");
  if (options.zero > 0) return not_covered("shards of slots");
  mesh_ = {.axes = {{.name = "data", .size = layout.shards(), .weights = layout.weights}}, .devices = layout.devices};
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
                                                            .first_bucket_bytes = options.first_bucket_bytes,
                                                            .bucket_bytes = options.bucket_bytes}));
  for (const NodeId id : run) run_everywhere(id);
  return ok_status();
}

// Copies of the end of a conditional or loop have no control inputs from outside. Another node stands for all of them.
void ReplicatedByRules::run_everywhere(NodeId id) {
  if (!lowered_->is_copied(id)) return;
  const bool waits = base_.node(id).op->flow == Flow::kNone;
  std::vector<Value> all;
  for (int d = 0; d < shards(); ++d) {
    const NodeId copy = lowered_->copy(d, id);
    if (waits && copy != id) graph_->add_control_input(id, copy);
    all.push_back(Value(graph_.get(), copy, Value::kControl));
  }
  if (waits || all.size() < 2) return;
  const auto on = graph_->device(kHost);
  everywhere_[id] = group(*graph_, all, str_cat("data_parallel/", base_.node(id).name));
}

Value ReplicatedByRules::target(Value v) const {
  const auto found = everywhere_.find(v.node());
  return found != everywhere_.end() ? found->second : v;
}

Result<Value> ReplicatedByRules::refresh_mirrors() {
  std::vector<Value> copies;
  for (int d = 1; d < shards(); ++d) {
    const auto on = graph_->device(mesh_.devices[static_cast<std::size_t>(d)]);
    const auto scope = graph_->name_scope(str_cat("data_parallel/refresh_", d));
    for (const NodeId id : lowered_->variables()) {
      const Value first = graph_->value(Endpoint{id, 0});
      const Value mirror = graph_->value(Endpoint{lowered_->copy(d, id), 0});
      const DType dtype = base_.node(id).attrs.get<DType>("dtype");
      if (first.dtype() == DType::kResource) {
        copies.push_back(graph_->add("AssignVariableOp",
                                     {mirror, graph_->add("ReadVariableOp", {first}, {{"dtype", dtype}})}));
      } else {
        const Value read = graph_->add("Identity", {first});
        copies.push_back(graph_->add("Assign", {mirror, read}, {{"validate_shape", false}}).control());
      }
    }
  }
  const Value all = group(*graph_, copies, "data_parallel/refresh");
  if (!all.valid()) return graph_->status();
  return all;
}

PlacementKind ReplicatedByRules::loss_placement() const {
  if (losses_.empty()) return PlacementKind::kReplicate;
  const Placement& p = assignment_.layout(losses_[0])[0];
  return p.is_shard() ? PlacementKind::kShard : p.is_partial() ? PlacementKind::kPartialSum : PlacementKind::kReplicate;
}

std::vector<PlannedCollective> ReplicatedByRules::collectives() const {
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

std::string ReplicatedByRules::summary() const {
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

}  // namespace argosy
