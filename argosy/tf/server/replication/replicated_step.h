// ReplicatedStep: a client's training step, rewritten by data parallelism. Its batch is sharded over the GPUs of the
// session, those of other tasks among them (replica_devices.h).
//
// It uses the session's variables, which are the first device's, and a mirror of each on every other device. One run at
// a time. Internal to the session server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/runtime/compile/resource_homes.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/replication/replica_devices.h"
#include "argosy/tf/server/replication/replication_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

class ReplicatedStep {
 public:
  // Rewrites the step for feeds of these ranks. The batch is in the feeds with equal numbers of rows
  // (feeds_of_batch()). Call it inside Session::mutate_graph(). `share_with`: the session of the client's other steps,
  // whose state the step uses; it outlives this object. Errors say why the step cannot be replicated, and what would
  // help.
  static Result<std::unique_ptr<ReplicatedStep>> make(const Graph& graph, const StepValues& values,
                                                      const std::vector<Endpoint>& losses,
                                                      std::span<const Tensor> feeds, const Session& share_with,
                                                      const std::shared_ptr<DeviceSet>& device_set,
                                                      const ReplicationOptions& how);

  // Copies the first device's variables to the mirrors. FAILED_PRECONDITION: a variable has no value yet.
  Status refresh(const RunOptions& options);
  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Like run(), with the losses of every run (check/losses_of_every_run.h) after the fetches. A loss whose global value
  // is not known is not valid(). REQUIRES: `check` was set.
  Status run_with_losses(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Compiles the step for these feeds, so that errors of shapes or memory are found before it runs.
  Status compile_for(std::span<const Tensor> feeds);
  // True if these feeds have enough examples, and sizes that the step takes (DataParallel::can_shard, can_feed).
  bool can_shard(std::span<const Tensor> feeds) const;

  // Returns the number of examples in these feeds; 0: the feeds do not agree.
  std::int64_t examples(std::span<const Tensor> feeds) const;

  // The slots that are sharded over the devices (ZeRO-1): the client's variables.
  const std::vector<ResourceName>& sharded_slots() const { return slots_; }
  // Writes every device's shards of these slots.
  Status write_slots(const std::map<ResourceName, Tensor>& values);
  // Returns a whole slot, in host memory.
  Result<Tensor> read_slot(const ResourceName& name);

  // Ends a run in progress: CANCELLED. begin_close() does not wait for it.
  void begin_close() { session_->begin_close(); }
  Status close() { return session_->close(); }

  const std::vector<int>& axes() const { return axes_; }      // by feed: the batch axis, or -1
  const DataParallel& parallel() const { return parallel_; }  // the rewritten step
  // Like DataParallel::summary(). Where micro-batches do not run one after another, it says so.
  std::string summary() const { return parallel_.summary() + overlap_; }
  // Returns the differences from the same step on one device that are by design.
  std::vector<ReplicationNote> notes() const { return parallel_.notes(); }

 private:
  // `batch`: one of the results of feeds_of_batch().
  static Result<std::unique_ptr<ReplicatedStep>> make_with(const Graph& graph, const StepValues& values,
                                                           const std::vector<Endpoint>& losses,
                                                           std::span<const Tensor> feeds, const std::vector<int>& batch,
                                                           const Session& share_with,
                                                           const std::shared_ptr<DeviceSet>& device_set,
                                                           const ReplicationOptions& how);
  explicit ReplicatedStep(DataParallel parallel) : parallel_(std::move(parallel)) {}
  Status run(Session::Callable& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             const RunOptions& options);

  DataParallel parallel_;
  std::vector<Value> fed_;  // by feed: the value to feed, with examples along the first axis
  std::vector<int> axes_;   // by feed: the batch axis, or -1
  std::vector<Value> fetched_, targets_;
  std::vector<std::size_t> sizes_;  // feeds that hold the batch size as a number
  std::string overlap_;             // text for summary(): which micro-batches do not run one after another
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> refresh_, step_;
  std::unique_ptr<Session::Callable> with_losses_;  // null: no check was requested
  std::vector<bool> losses_;                        // by loss of every run: true if with_losses_ returns it
  // Transposes feeds whose examples do not lie along the first axis; null: none.
  std::unique_ptr<Session::Callable> transpose_;
  // By slot: its name, and the steps that write and read the whole slot.
  std::vector<ResourceName> slots_;
  std::vector<std::unique_ptr<Session::Callable>> write_slot_, read_slot_;
};

// The result of analyzing a step before it is replicated.
struct TrainingStep {
  bool writes = false;  // the step writes variables
  // The evidence that the step trains: the first loss, a call of a function that trains, or an update by the result of
  // one. Empty: the step does not train.
  std::string trains;
  std::vector<Endpoint> losses;  // losses whose gradients it follows; empty: they are in functions
  // Values that are computed once, before the batch is sharded: elements of datasets and queues, or random values that
  // are themselves the batch.
  std::vector<Value> sources;
  bool sources_write = false;  // computing the sources writes variables, such as a count of batches
  std::string why = {};        // not empty: the step trains, but cannot be replicated
};
// Analyzes a step of a client. Call it inside Session::mutate_graph().
TrainingStep analyze_training_step(ImportedGraph& graph, const StepValues& values);

// Returns candidates for the batch axis of each feed (-1: none), the likelier first. For each feed:
// - The first axis, if its size or all sizes are unknown in the graph. The most frequent number of rows is taken as the
//   batch size; feeds with other numbers are replicated, like the elements of a sparse tensor. Candidates by other
//   numbers of rows follow.
// - Another axis, if only its size is unknown ([features, None]: examples in columns). It must be as long as the batch
//   of other feeds, if there are some.
// - If no first axis has an unknown size: the first axis of the feeds with the most frequent size. Example: [32, None]
//   for sentences of any length. This is tried before or after columns.
//
// INVALID_ARGUMENT: no feed has a batch axis.
Result<std::vector<std::vector<int>>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                                     std::span<const Tensor> tensors);

}  // namespace argosy::tf
