// Builds the graph of an assignment: what each device of one mesh axis computes, and what moves between them.
//
//   Assignment                         graph
//   x: S(0), w: R                      x ─┬► shard 0 ─► matmul            ─► sum            ─┐
//   y = matmul(x, w): S(0)     ──►        │                                                all-reduce ─► …
//   s = sum(y): P(sum) -> R               └► shard 1 ─► matmul/replica_1 ─► sum/replica_1 ─┘
//
// * Nodes of the step have a copy per device. Device 0 keeps names and ids; copies add "/replica_N". State that exists
//   once stays single, and so do nodes outside of the step.
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
  const Mesh* mesh = nullptr;  // one axis, over devices
  std::vector<NodeId> batch;   // fed nodes that bring the batch: S(0)
  std::vector<NodeId> run;     // what a step runs
  std::size_t first_bucket_bytes = 1 << 18, bucket_bytes = 4 << 20;
};

// A collective that was built.
struct LoweredCollective {
  std::string op;          // "all-reduce", "all-gather"
  Endpoint value;          // of the base graph; of a bucket, the first
  int values = 1;          // that travel together
  std::int64_t bytes = 0;  // -1: the size depends on the step
  std::string why;
};

struct LowerState;

class Lowered {
 public:
  // `graph`: a clone of the base graph, with equal ids. It becomes the graph for all devices.
  static Result<std::unique_ptr<Lowered>> make(Graph& graph, const LowerRequest& request);
  ~Lowered();

  // The global value of a value of the base graph. Adds nodes. INVALID_ARGUMENT ARG-SHARD-008: it has none.
  Result<Value> global(Endpoint e);
  // True if each device has a copy of the node.
  bool is_copied(NodeId id) const;
  NodeId copy(int device, NodeId id) const;  // itself where it is not copied
  std::vector<NodeId> variables() const;     // that are copied
  const std::vector<LoweredCollective>& collectives() const;

 private:
  explicit Lowered(std::unique_ptr<LowerState> state);
  std::unique_ptr<LowerState> state_;
};

}  // namespace argosy
