// ReplicatedGraph: the implementation of DataParallel. It replicates a graph by the sharding rules of ops. Internal to
// strategy/.
//
//   graph ─► Sizes ─► RuleTable ─► resolve ─► verify ─► lower (argosy/sharding)
//
// Every device computes nodes that no rule covers, from gathered inputs. Results are one device's, except with batch
// normalisation: each shard keeps its own statistics, unless `sync_batch_norm` is set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/lower/lower.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/data_parallel/decompose_batch_norm.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/data_parallel/replicas.h"
#include "argosy/strategy/data_parallel/rules_report.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

class ReplicatedGraph {
 public:
  explicit ReplicatedGraph(const Graph& graph) : base_(graph.clone()), original_size_(graph.size()) {}
  // Errors: DataParallel::make's.
  Status build(const DataParallelOptions& options);

  // The methods below are those of DataParallel, which documents them. Values that they return belong to replicated().
  Graph& replicated() { return *graph_; }
  Value target(Value v);
  Result<Value> fetch(Endpoint e);
  Result<Value> refresh_mirrors();
  PlacementKind loss_placement() const;
  int shards() const { return mesh_.axes[0].size; }
  bool is_sharded(NodeId original) const {
    const auto node = static_cast<std::size_t>(original.index);
    return zero_ && node < zero_->is_sharded.size() && zero_->is_sharded[node] != 0;
  }
  bool can_shard(std::int64_t examples) const { return sizes_->covers(examples); }
  bool can_feed(NodeId original, const Shape& shape) const { return sizes_->fits(original, shape); }
  std::string summary() const { return summary_of(report_input(), noted_); }
  std::vector<ReplicationNote> notes() const { return noted_; }
  std::vector<PlannedCollective> collectives() const;
  bool gathers() const { return gathers_whole(report_input()); }
  std::vector<PlannedWhole> whole() const;
  Result<PlannedNode> planned(std::string_view node) const;

 private:
  Status decompose_norms();
  Status assign(const std::vector<NodeId>& batch);
  Status check_combination(std::optional<PlacementKind> asked) const;
  void run_everywhere(NodeId id);
  void find_notes();
  void list_copies();
  Status shard_slots(const std::vector<NodeId>& targets);
  ReplicationReportInput report_input() const {
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
  LocalStatistics local_;  // of shards; empty: none keeps its own
  Assignment assignment_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Lowered> lowered_;
  std::vector<Endpoint> losses_;
  Replicas replicas_;                   // copies, and what is summed over shards, by point
  std::vector<std::size_t> points_;     // the reshard of each sum
  std::optional<ShardedUpdates> zero_;  // under ZeRO-1
  std::vector<ReplicationNote> noted_;
  std::map<NodeId, Value> everywhere_;  // by node whose copies do not wait for each other: a node that runs all
};

}  // namespace argosy
