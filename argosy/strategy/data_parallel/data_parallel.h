// Data parallelism as a graph rewrite: a training graph written for one device becomes one that runs on many, with the
// same result. Every shard of the batch gets a copy of the nodes that see it, every device a mirror of the variables.
//
//   x ─► model ─► loss                    x ─┬► shard 0 ─► model 0 ─► grad 0 ─┐              ┌─► update v   (gpu:0)
//          v ◄── update ◄── grad    ──►      │                               _AllReduce ────┤
//                                            └► shard 1 ─► model 1 ─► grad 1 ─┘              └─► update v'  (gpu:1)
//
// * Batches are global: feeds keep their names and are split along axis 0 by the devices' weights; shards may be uneven
//   or empty. Scalars that are fed go to every device.
// * Shards are combined by the loss's own reduction over the batch: sums add up, means are weighted by the shard,
//   weighted means by their weights. A loss whose reduction cannot be told is an error that asks for one, not a guess.
// * Gradients are summed where they are still linear in the batch: before clipping by norm, momentum or decay.
//   Every other update of a variable that depends on the batch (moving averages, counters) is combined likewise, so all
//   mirrors of a variable are always equal. Batch statistics themselves are those of each shard, as in TensorFlow, or
//   with `sync_batch_norm` those of the global batch.
// * Names: shard 0 keeps every name, copies have "/replica_N" behind it. Saving the original names saves the model.
// * With a fixed number of `shards`, the batch is split, randomness is drawn and gradients are summed per shard in a
// fixed
//   tree, so that the bits do not depend on how many devices there are.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/sharding/batch_placement.h"

namespace argosy {

// What to replicate, and over which devices.
struct DataParallelOptions {
  std::vector<std::string> devices;      // "/device:GPU:0", …: one mirror each; at least one
  std::vector<double> weights = {};      // relative speed of each; empty: equal
  std::vector<Value> losses = {};        // whose gradients the updates follow; none: nothing is trained (evaluation)
  std::vector<Value> train = {};         // what a step runs; all its updates are found from here
  std::vector<Value> batch_inputs = {};  // empty: placeholders of unknown first size
  std::vector<std::pair<Value, Shape>> examples = {};  // shapes that may be fed, where the graph leaves sizes open
  std::optional<PlacementKind> loss_placement = {};    // kPartialSum or kPartialMean: instead of what the loss says
  // Batch norms (tf.nn.moments, FusedBatchNorm in training) take statistics of the global batch: one device's numbers,
  // for two small sums a layer on the way forwards and one on the way back.
  bool sync_batch_norm = false;
  int shards = 0;                            // logical shards, at least one a device; 0: one a device
  std::size_t first_bucket_bytes = 1 << 18;  // gradients travel in buckets, the first small so that it starts early
  std::size_t bucket_bytes = 4 << 20;        // gradients of one all-reduce, about
};

// What a replicated step does otherwise than one device would, though it may run: for whoever reports on it.
struct ReplicationNote {
  // What differs from one device.
  enum class Kind : char {
    kDraws,       // random numbers that depend on the number of devices
    kStatistics,  // batch normalisation by the statistics of each device's shard
  };
  Kind kind = Kind::kDraws;  // what differs
  std::string node;          // of the original graph
  std::string op;            // of the node
  std::string text;          // "'z' (RandomGamma): draws depend on the number of devices"
};

class DataParallel {
 public:
  // The graph is copied, not changed. INVALID_ARGUMENT "ARG-DP-…" says what cannot be replicated and what to do.
  static Result<DataParallel> make(const Graph& graph, const DataParallelOptions& options);
  DataParallel(DataParallel&&) noexcept;             // The other one is empty then.
  DataParallel& operator=(DataParallel&&) noexcept;  // The other one is empty then.
  ~DataParallel();

  // Nodes keep their ids. May grow through fetch().
  Graph& graph();
  // What to feed and what to run in place of a value of the original graph. A value of `train` that is fetched must be
  // run, too: what ends a conditional is fetched from the first device.
  Value input(Value original);
  Value target(Value original);  // runs `original` on every device that has it
  // The value of the global batch in place of one of the original graph, by its own reduction: concatenated, summed,
  // averaged; else computed again, on the CPU, from values of the global batch. Adds nodes; not while a session runs the
  // graph.
  Result<Value> fetch(Value original);
  // What to run when somebody else has written the variables of the original graph, which are those of the first
  // device: every mirror takes their values. Adds nodes.
  Result<Value> refresh_mirrors();

  // How the (first) loss was found to combine; kReplicate without one.
  PlacementKind loss_placement() const;
  int shards() const;  // of a batch, over all devices
  // May a batch of so many examples be sharded? Not where a shard would have none and what it computes with the sizes of
  // examples would reach a variable.
  bool can_shard(std::int64_t examples) const;
  // "2 devices, loss: a mean over the batch, 12 gradients in 3 all-reduces (0.3 MiB, 4.0 MiB, 2.1 MiB)".
  std::string summary() const;
  // In the order of the graph's nodes; one for each node and kind. Empty for one shard.
  std::vector<ReplicationNote> notes() const;

 private:
  struct Impl;
  explicit DataParallel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy
