// A replicated step from the sharding rules of ops, for what the analysis of losses and gradients refuses: maxima over
// the batch, pairs of examples, softmax along it. Internal to strategy/.
//
//   graph ─► Sizes ─► RuleTable ─► resolve ─► verify ─► lower (argosy/sharding)
//
// It knows neither losses nor gradients. Its results are one device's, statistics of batch normalisation included. What
// no rule covers is gathered, and every device computes it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/lower/lower.h"
#include "argosy/sharding/mesh.h"
#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {

class ReplicatedByRules {
 public:
  // The options' shards, accumulate and zero are not covered: UNIMPLEMENTED ARG-SHARD-007.
  static Result<std::unique_ptr<ReplicatedByRules>> make(const Graph& graph, const DataParallelOptions& options);
  // True if `refused`, an error of the analysis, says that the step cannot be replicated, and not that the request is wrong.
  static bool may_replace(const Status& refused);

  // As DataParallel's. Values are those of graph().
  Graph& graph() { return *graph_; }
  Value target(Value v) const;
  Result<Value> fetch(Endpoint e) { return lowered_->global(e); }
  Result<Value> refresh_mirrors();
  PlacementKind loss_placement() const;
  int shards() const { return mesh_.axes[0].size; }
  bool can_shard(std::int64_t examples) const { return sizes_->covers(examples); }
  std::string summary() const;
  std::vector<PlannedCollective> collectives() const;  // in the order of the graph
  const Assignment& assignment() const { return assignment_; }
  const Graph& base() const { return base_; }  // that the assignment is of

 private:
  explicit ReplicatedByRules(const Graph& graph) : base_(graph.clone()) {}
  Status build(const DataParallelOptions& options);
  void run_everywhere(NodeId id);

  Graph base_;
  Mesh mesh_;
  std::unique_ptr<Sizes> sizes_;
  std::unique_ptr<RuleTable> rules_;
  Assignment assignment_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Lowered> lowered_;
  std::vector<Endpoint> losses_;
  std::map<NodeId, Value> everywhere_;  // by node whose copies cannot wait for each other: a node that runs all
};

}  // namespace argosy
