// Builds the graph of an assignment: what each device of one mesh axis computes, and what moves between them.
//
//   Assignment                         graph
//   x: S(0), w: R                      x ─┬► shard 0 ─► matmul            ─► sum            ─┐
//   y = matmul(x, w): S(0)     ──►        │                                                all-reduce ─► …
//   s = sum(y): P(sum) -> R               └► shard 1 ─► matmul/replica_1 ─► sum/replica_1 ─┘
//
// * Nodes of the step have a copy per device. Device 0 keeps names and ids; copies add "/replica_N". State that exists
//   once stays single, and so do nodes outside of the step.
// * A device that the mesh names several times in a row has several shards. It computes them in turns, and what is
//   replicated exists once a device (turns.h).
// * Reshards become nodes: all-reduces in buckets, joined shards, slices.
// * Sizes are global wherever they are data. Where a node asks for the size of its output, it gets its shard's.
//
// What cannot be built is UNIMPLEMENTED ARG-SHARD-007, and names the node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/assignment.h"
#include "argosy/sharding/mesh.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

// All of it is borrowed, and outlives what lower() returns.
struct LowerRequest {
  const Graph* base = nullptr;  // that was resolved
  const Sizes* sizes = nullptr;
  const RuleTable* rules = nullptr;
  const Assignment* assignment = nullptr;
  const Mesh* mesh = nullptr;  // one axis, over devices; the shards of one device are neighbours
  std::vector<NodeId> batch;   // fed nodes that bring the batch: S(0)
  std::vector<NodeId> run;     // what a step runs
  // So many consecutive shards are on one device, which adds up what they give before it travels.
  int block = 1;
  std::size_t first_bucket_bytes = 1 << 18, bucket_bytes = 4 << 20;
};

// A collective that was built, and is no sum.
struct LoweredCollective {
  std::string op;          // "all-reduce" of a maximum or minimum, "all-gather"
  Endpoint value;          // of the base graph
  std::int64_t bytes = 0;  // -1: the size depends on the step
  std::string why;
};

// Sums over shards that are made together.
struct LoweredSums {
  std::vector<std::size_t> reshards;        // of the assignment, whose values they are
  std::vector<std::vector<Endpoint>> sums;  // [member][shard]: in the lowered graph
  std::size_t bytes = 0;                    // 0: they depend on the batch
  bool travel = true;                       // false: one device has all shards
};

struct LowerState;

class Lowered {
 public:
  // `graph`: a clone of the base graph, with equal ids. It becomes the graph for all devices.
  static Result<std::unique_ptr<Lowered>> make(Graph& graph, const LowerRequest& request);
  ~Lowered();

  // The global value of a value of the base graph. Adds nodes. INVALID_ARGUMENT ARG-SHARD-008: it has none.
  Result<Value> global(Endpoint e);
  // True if each device, or each shard, has a copy of the node.
  bool is_copied(NodeId id) const;
  bool is_per_shard(NodeId id) const;  // each shard has
  // Itself where it is not copied. The shards of one device have one copy of what is replicated.
  NodeId copy(int shard, NodeId id) const;
  std::vector<NodeId> copies(NodeId id) const;  // each once, the first one is itself
  std::vector<NodeId> variables() const;        // that are copied
  const std::vector<LoweredCollective>& collectives() const;
  // What a step sums over shards, in starting order.
  const std::vector<LoweredSums>& sums() const;
  // Nodes for whose sake micro-batches run side by side (turns.h).
  std::vector<NodeId> coupled_turns() const;

 private:
  explicit Lowered(std::unique_ptr<LowerState> state);
  std::unique_ptr<LowerState> state_;
};

}  // namespace argosy
