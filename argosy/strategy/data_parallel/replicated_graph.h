// What is behind DataParallel: a graph for many devices, replicated in one of two ways. Internal to strategy/.
//
//   by_rules      knows ops by their sharding rules alone; anything that can be gathered
//   by_analysis   finds losses, means and gradients; containers in loops, statistics of each shard
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {

// Methods are DataParallel's; there is what they say. Values are those of replicated().
class ReplicatedGraph {
 public:
  virtual ~ReplicatedGraph() = default;

  virtual Graph& replicated() = 0;
  virtual Value target(Value v) = 0;
  virtual Result<Value> fetch(Endpoint e) = 0;
  virtual Result<Value> refresh_mirrors() = 0;
  virtual PlacementKind loss_placement() const = 0;
  virtual int shards() const = 0;
  virtual bool is_sharded(NodeId original) const = 0;
  virtual bool can_shard(std::int64_t examples) const = 0;
  virtual bool can_feed(NodeId original, const Shape& shape) const = 0;
  virtual std::string summary() const = 0;
  virtual std::vector<ReplicationNote> notes() const = 0;
  virtual std::vector<PlannedCollective> collectives() const = 0;
  virtual std::vector<PlannedWhole> whole() const = 0;
  virtual Result<PlannedNode> planned(std::string_view node) const = 0;
  // True if shards are gathered, other than rows of sparse gradients.
  virtual bool gathers() const = 0;
};

// Errors: DataParallel::make's.
Result<std::unique_ptr<ReplicatedGraph>> replicate_by_analysis(const Graph& graph, const DataParallelOptions& options);
// Combines losses by their own reductions, and takes the statistics of the global batch.
Result<std::unique_ptr<ReplicatedGraph>> replicate_by_rules(const Graph& graph, const DataParallelOptions& options);

// A device's copy of a variable, which the first device has as well.
struct Mirror {
  NodeId first, mirror;
  DType dtype = DType::kInvalid;
  std::string device;  // of the mirror
};
// What to run so that every mirror takes the value of its first. Adds nodes.
Result<Value> refresh(Graph& graph, const std::vector<Mirror>& mirrors);

}  // namespace argosy
