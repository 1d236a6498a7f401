// Data parallelism as a graph rewrite: a training graph written for one device becomes a graph for many, with the same
// result. Each shard of the batch gets a copy of the nodes that see it. Each device gets a mirror of the variables.
//
//   x ─► model ─► loss                    x ─┬► shard 0 ─► model 0 ─► grad 0 ─┐              ┌─► update v   (gpu:0)
//          v ◄── update ◄── grad    ──►      │                               _AllReduce ────┤
//                                            └► shard 1 ─► model 1 ─► grad 1 ─┘              └─► update v'  (gpu:1)
//
// * Batches are global. Feeds keep their names and are split along axis 0 by the devices' weights. Shards may be uneven
//   or empty. Every device gets the scalars that are fed.
// * The loss's own reduction over the batch combines the shards. Sums add up, means are weighted by the shard's size,
//   weighted means by their weights. Other values are computed on every device, from gathered inputs.
// * Gradients are summed where they are still linear in the batch: before clipping by norm, momentum or decay. Every
//   other batch-dependent update of a variable (moving averages, counters) is combined, too. So all mirrors stay equal.
// * Batch statistics are per shard, as in TensorFlow; with `sync_batch_norm` they are global.
// * Shard 0 keeps every node name; copies add "/replica_N". Saving the original names saves the model.
// * With a fixed number of `shards` the bits do not depend on the number of devices. The batch is split, randomness is
//   drawn and gradients are summed per shard, in a fixed tree.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class ReplicatedGraph;  // argosy/strategy/data_parallel/replicated_graph.h

// How the values that the shards have of a loss become its global value.
enum class PlacementKind {
  kReplicate,        // all equal: it does not depend on the batch, or only on values that were combined
  kShard,            // one entry per example
  kPartialSum,       // a sum over examples
  kPartialMean,      // a mean over examples: weighted by the number of examples
  kPartialWeighted,  // a sum over examples divided by another such sum
};

// What to replicate, and over which devices.
struct DataParallelOptions {
  std::vector<std::string> devices;  // "/device:GPU:0", …: one mirror each; at least one
  std::vector<double> weights = {};  // relative speed of each; empty: equal
  std::vector<Value> losses = {};    // their gradients train; none: nothing is trained (evaluation)
  std::vector<Value> train = {};     // what a step runs; its updates are found from here
  // The placeholders that are fed with the batch. Empty: those of unknown first size that the step needs. A step that
  // feeds such placeholders unequal numbers of rows ends with INVALID_ARGUMENT.
  std::vector<Value> batch_inputs = {};
  std::vector<std::pair<Value, Shape>> examples = {};  // shapes that may be fed, for sizes that the graph leaves open
  std::optional<PlacementKind> loss_placement = {};    // kPartialSum or kPartialMean: an error if the first loss is not
  // Batch norms (tf.nn.moments, FusedBatchNorm in training) use global statistics, and give one device's numbers. Cost:
  // two small all-reduces per layer forwards, one backwards.
  bool sync_batch_norm = false;
  int shards = 0;  // logical shards, at least one a device; 0: `accumulate` shards a device
  // Micro-batches per device and step, at most kMostMicroBatches, one after the other. Their gradients add up before
  // one update, so activations need memory for one micro-batch. The result is that of the global batch, up to rounding.
  // On equal devices it has the bits of one device if devices * accumulate is 1, 2, 4 or 8. With `shards`, a device may
  // have more micro-batches than this: `accumulate` is only checked against shards / devices.
  int accumulate = 1;
  // 1: each device keeps a shard of the slots (Adam's m and v) and updates its shard of the variables (ZeRO-1). Then
  // slots must be read and written through this graph alone: their values are in variables of other names.
  int zero = 0;
  std::size_t first_bucket_bytes = 1 << 18;  // gradients travel in buckets, the first small so that it starts early
  std::size_t bucket_bytes = 4 << 20;        // gradients of one all-reduce, about
};

inline constexpr int kMostMicroBatches = 64;  // the limit of `accumulate`

// A difference between the replicated step and one device's step, for reports. It is no error: the step can run. Notes
// of kMemory are about memory alone: the values are those of one device.
struct ReplicationNote {
  // What differs from one device.
  enum class Kind : char {
    kStatistics,  // batch normalisation by the statistics of each device's shard, or of each micro-batch
    kMemory,      // micro-batches that depend on each other: activations of all of them are alive at once
  };
  Kind kind = Kind::kMemory;  // what differs
  std::string node;           // of the original graph
  std::string op;             // of the node
  std::string text;           // "'bn' (FusedBatchNormV3): statistics are those of each device's shard of the batch"
};

// A collective of a replicated step, for reports.
struct PlannedCollective {
  std::string op;          // "all-reduce", "reduce-scatter", "all-gather", "broadcast"
  std::string value;       // a node of the original graph: the one whose value it moves; of a bucket, the first
  int values = 1;          // how many values it moves
  std::int64_t bytes = 0;  // of the global values; -1: it depends on the batch, or is not known
  std::string why;         // "gradients of variables that every device updates"
};

// A node of the original graph that every device computes from global values, though it depends on the batch.
struct PlannedWhole {
  std::string node, op;  // of the original graph
  std::string why;       // "an update takes it of the global batch, …"
};

// Where a node of the original graph is in the replicated one.
struct PlannedNode {
  std::string node, op;  // of the original graph
  std::string copies;    // "one on each of 2 devices, of the device's examples"
  std::string why;       // "its axis 0 counts examples", "the batch does not reach it"
};

class DataParallel {
 public:
  // Replicates a copy of the graph. INVALID_ARGUMENT or UNIMPLEMENTED (ARG-DP-…, ARG-SHARD-…) says why it cannot be
  // replicated, and what to do.
  static Result<DataParallel> make(const Graph& graph, const DataParallelOptions& options);
  DataParallel(DataParallel&&) noexcept;             // The other one is empty then.
  DataParallel& operator=(DataParallel&&) noexcept;  // The other one is empty then.
  ~DataParallel();

  // The replicated graph. Nodes keep their ids. fetch() and refresh_mirrors() may add nodes.
  Graph& graph();
  // Returns what to feed in place of a value of the original graph.
  Value input(Value original);
  // Returns what to run in place of `original`: it runs the node on every device that has a copy. To fetch a value of
  // `train`, run its target(), too: the end of a conditional is fetched from the first device.
  Value target(Value original);
  // Returns the global value of a value of the original graph: its shards are concatenated, summed or averaged. Other
  // values are recomputed on the CPU from global values. Adds nodes, so no session may run the graph yet.
  // INVALID_ARGUMENT ARG-SHARD-008: each device has its own value, or it is in a loop.
  Result<Value> fetch(Value original);
  // Returns what to run after the original variables were written from outside. It copies them, which are the first
  // device's, to every mirror. Adds nodes.
  Result<Value> refresh_mirrors();

  // The placement of the first loss; kReplicate without one.
  PlacementKind loss_placement() const;
  // True for a slot of which every device holds a shard (ZeRO-1). A read of it gives the global value, and an
  // assignment writes every shard. It has no mirrors.
  bool is_sharded(Value original) const;
  int shards() const;  // of a batch, over all devices
  // True if the step is valid for a batch of so many examples, see Sizes::covers(). False for:
  // - one example, and batches for which the shapes do not fit together;
  // - more than some 110,000 examples, unless the example of the batch has as many;
  // - every other size, if the graph has a static batch size or fits no other.
  bool can_shard(std::int64_t examples) const;
  // False if the step is not valid for this shape of the input: its sizes are outside of those that were tried, see
  // Sizes::fits().
  bool can_feed(Value original, const Shape& shape) const;
  // "2 devices, loss: a mean over the batch, 12 sums in 3 all-reduces (0.3 MiB, 4.0 MiB, 2.1 MiB)".
  std::string summary() const;
  // Returns notes of kStatistics, then of kMemory, each by ascending id of the node. Empty for one shard.
  std::vector<ReplicationNote> notes() const;
  // Returns the collectives of a step: all-reduces of buckets, reduce-scatters and all-gathers of ZeRO-1, then others.
  // Each kind is in starting order. Empty for one device.
  std::vector<PlannedCollective> collectives() const;
  // True if examples travel between devices, not only sums over them and rows of sparse gradients. Such a step may be
  // slower than one device's.
  bool gathers() const;
  // Returns the nodes that every device computes whole though they depend on the batch, in topological order.
  std::vector<PlannedWhole> whole() const;
  // Returns where the node is in the replicated graph, and why.
  // NOT_FOUND ARG-SHARD-005: the original graph has no such node; the nearest name is the hint.
  Result<PlannedNode> planned(std::string_view node) const;

 private:
  explicit DataParallel(std::unique_ptr<ReplicatedGraph> replicated);
  std::unique_ptr<ReplicatedGraph> replicated_;
};

}  // namespace argosy
