// Builds the graph of an assignment: the nodes that each device of one mesh axis computes, and the nodes that move
// values between devices.
//
//   Assignment                         graph
//   x: S(0), w: R                      x ─┬► shard 0 ─► matmul            ─► sum            ─┐
//   y = matmul(x, w): S(0)     ──►        │                                                all-reduce ─► …
//   s = sum(y): P(sum) -> R               └► shard 1 ─► matmul/replica_1 ─► sum/replica_1 ─┘
//
// * Nodes of the step have a copy per device. Device 0 keeps names and ids; copies add "/replica_N". State that exists
//   once (queues, tables) stays single, and so do nodes outside of the step.
// * A device that the mesh names several times in a row has several shards. It computes them in turns. Replicated nodes
//   have one copy on it (turns.h).
// * Reshards become nodes: all-reduces in buckets, joined shards, slices.
// * Sizes are global wherever they are data. A size operand of a node gives the size of its shard.
//
// UNIMPLEMENTED ARG-SHARD-007 names a node that cannot be built.
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

// All pointers are borrowed, and outlive the Lowered that is made from them.
struct LowerRequest {
  const Graph* base = nullptr;  // the graph of the assignment
  const Sizes* sizes = nullptr;
  const RuleTable* rules = nullptr;
  const Assignment* assignment = nullptr;
  const Mesh* mesh = nullptr;  // one axis, over devices; the shards of one device are neighbours
  std::vector<NodeId> batch;   // fed nodes that bring the batch: S(0)
  std::vector<NodeId> run;     // what a step runs
  // A device adds up partial sums of so many consecutive shards before the all-reduce. A block lies on one device.
  int block = 1;
  std::size_t first_bucket_bytes = 1 << 18, bucket_bytes = 4 << 20;
};

// A collective that was built, other than a sum.
struct LoweredCollective {
  std::string op;          // "all-reduce" of a maximum or minimum, "all-gather"
  Endpoint value;          // of the base graph
  std::int64_t bytes = 0;  // -1: the size depends on the step
  std::string why;
};

// Sums over shards that one bucket makes together.
struct LoweredSums {
  std::vector<std::size_t> reshards;        // by member: the position in Assignment::reshards
  std::vector<std::vector<Endpoint>> sums;  // [member][shard]: the sum, in the lowered graph
  std::size_t bytes = 0;                    // of the members with a fixed size; 0: none has one
  bool travel = true;                       // false: one device has all shards, so there is no all-reduce
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
  // Returns the copy of a shard; the node itself if it is not copied. Shards of one device share copies of replicated
  // nodes.
  NodeId copy(int shard, NodeId id) const;
  std::vector<NodeId> copies(NodeId id) const;  // each once; the node itself is the first
  std::vector<NodeId> variables() const;        // the variables that have a copy on every device
  const std::vector<LoweredCollective>& collectives() const;
  // Returns the sums over shards that a step makes, by bucket. Sums for fetches alone are not among them.
  const std::vector<LoweredSums>& sums() const;
  // Returns the nodes because of which micro-batches run side by side (turns.h).
  std::vector<NodeId> coupled_turns() const;

 private:
  explicit Lowered(std::unique_ptr<LowerState> state);
  std::unique_ptr<LowerState> state_;
};

}  // namespace argosy
