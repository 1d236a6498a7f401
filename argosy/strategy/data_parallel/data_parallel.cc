#include "argosy/strategy/data_parallel/data_parallel.h"

#include <utility>

#include "argosy/strategy/data_parallel/replicated_graph.h"

namespace argosy {

Result<DataParallel> DataParallel::make(const Graph& graph, const DataParallelOptions& options) {
  ARGOSY_RETURN_IF_ERROR(graph.status());
  auto replicated = std::make_unique<ReplicatedGraph>(graph);
  ARGOSY_RETURN_IF_ERROR(replicated->build(options));
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
