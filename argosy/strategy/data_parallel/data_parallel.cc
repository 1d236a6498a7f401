#include "argosy/strategy/data_parallel/data_parallel.h"

#include <algorithm>

#include "argosy/strategy/data_parallel/replicated_graph.h"
#include "argosy/strategy/sharding/batch_statistics.h"

namespace argosy {

namespace {

// True if an error of the analysis says that the step cannot be replicated. False if the request is wrong: no batch, none
// that the loss depends on, micro-batches.
bool says_cannot_replicate(const Status& refused) {
  constexpr std::string_view kRequests[] = {"ARG-DP-001", "ARG-DP-004", "ARG-DP-013"};
  return std::string_view(refused.id()).starts_with("ARG-DP-") &&
         std::find(std::begin(kRequests), std::end(kRequests), refused.id()) == std::end(kRequests);
}

// What the caller asks for, and rules never do: a combination that is not the loss's own, statistics of each shard.
bool departs_from_one_device(const Graph& graph, const DataParallelOptions& options) {
  return options.loss_placement.has_value() || (!options.sync_batch_norm && normalises_by_batch(graph).has_value());
}

// Rules come first. Where they gather, the analysis may know better: it has layouts for containers in loops.
// The graph decides, not the options: all strategies of one graph then have the same bits.
Result<std::unique_ptr<ReplicatedGraph>> replicate(const Graph& graph, const DataParallelOptions& options) {
  if (options.by_rules) return replicate_by_rules(graph, options);
  if (options.by_analysis) return replicate_by_analysis(graph, options);
  std::optional<Result<std::unique_ptr<ReplicatedGraph>>> rules;
  if (!options.analysis_first && !departs_from_one_device(graph, options)) {
    rules = replicate_by_rules(graph, options);
    if (rules->ok() && !(**rules)->gathers()) return *std::move(rules);
  }
  auto analysed = replicate_by_analysis(graph, options);
  if (analysed.ok() || !says_cannot_replicate(analysed.status())) return analysed;
  if (!rules) rules = replicate_by_rules(graph, options);
  return rules->ok() ? *std::move(rules) : std::move(analysed);
}

}  // namespace

Result<DataParallel> DataParallel::make(const Graph& graph, const DataParallelOptions& options) {
  ARGOSY_RETURN_IF_ERROR(graph.status());
  if (options.gradients.seed.valid() && options.losses.size() != 1) {
    return invalid_argument("given gradients need one loss, not ", options.losses.size());
  }
  ARGOSY_ASSIGN_OR_RETURN(auto replicated, replicate(graph, options));
  return DataParallel(std::move(replicated));
}

DataParallel::DataParallel(std::unique_ptr<ReplicatedGraph> replicated) : replicated_(std::move(replicated)) {}
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel& DataParallel::operator=(DataParallel&&) noexcept = default;
DataParallel::~DataParallel() = default;

Graph& DataParallel::graph() { return replicated_->replicated(); }
Value DataParallel::input(Value original) { return Value(&graph(), original.node(), original.index()); }
Value DataParallel::target(Value original) { return replicated_->target(input(original)); }
Result<Value> DataParallel::fetch(Value original) {
  if (!original.valid()) return invalid_argument("fetch: no value");
  return original.index() == Value::kControl ? input(original) : replicated_->fetch(original.endpoint());
}
Result<Value> DataParallel::refresh_mirrors() { return replicated_->refresh_mirrors(); }
PlacementKind DataParallel::loss_placement() const { return replicated_->loss_placement(); }
bool DataParallel::is_sharded(Value original) const { return replicated_->is_sharded(original.node()); }
int DataParallel::shards() const { return replicated_->shards(); }
bool DataParallel::can_shard(std::int64_t examples) const { return replicated_->can_shard(examples); }
bool DataParallel::can_feed(Value original, const Shape& shape) const {
  return replicated_->can_feed(original.node(), shape);
}
std::string DataParallel::summary() const { return replicated_->summary(); }
std::vector<ReplicationNote> DataParallel::notes() const { return replicated_->notes(); }
std::vector<PlannedCollective> DataParallel::collectives() const { return replicated_->collectives(); }
bool DataParallel::gathers() const { return replicated_->gathers(); }
std::vector<PlannedWhole> DataParallel::whole() const { return replicated_->whole(); }
Result<PlannedNode> DataParallel::planned(std::string_view node) const { return replicated_->planned(node); }

}  // namespace argosy
