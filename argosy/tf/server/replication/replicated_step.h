// ReplicatedStep: a client's training step as data parallelism rewrites it: its batch sharded over every GPU of the
// session.
//
// It works on the variables that the session's other steps know, which are the first device's, and on mirrors of them
// beside every other device. One run at a time. Internal to the session server.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/service/resolved_step.h"

namespace argosy::tf {

struct ReplicationOptions {
  bool optimize = true;          // the graph
  bool sync_batch_norm = false;  // see DataParallelOptions
  int check = 0;                 // so many runs of every step also run on one device, and are compared
};

class ReplicatedStep {
 public:
  // For feeds of these ranks, of which the same bring the batch: as many rows each as the others. To be called where
  // the graph may grow (Session::mutate_graph). `share_with`: the session of the client's other steps, which outlives it. Errors
  // say why it cannot be replicated, and what would help.
  static Result<std::unique_ptr<ReplicatedStep>> make(const Graph& graph, const StepValues& values,
                                                      const std::vector<Endpoint>& losses,
                                                      std::span<const Tensor> feeds, const Session& share_with,
                                                      const std::shared_ptr<DeviceSet>& device_set,
                                                      const ReplicationOptions& how);

  // Mirrors take the values of the first device's variables. FAILED_PRECONDITION: some have none yet.
  Status refresh(const RunOptions& options);
  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // With the losses behind the fetches; one whose value over the global batch is not known is not valid(). Where `check`
  // was asked for.
  Status run_with_losses(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Else these are for one device (DataParallel::can_shard).
  bool can_shard(std::span<const Tensor> feeds) const;

  // Ends a run under way: CANCELLED.
  Status close() { return session_->close(); }

  std::string summary() const { return parallel_.summary(); }
  // What is another than on one device by design.
  std::vector<ReplicationNote> notes() const { return parallel_.notes(); }

 private:
  // `batch`: one of feeds_of_batch().
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
  std::vector<int> axes_;           // by feed: along which the examples lie, or -1
  std::vector<std::size_t> sizes_;  // feeds that are the batch's size as a number
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> refresh_, step_;
  std::unique_ptr<Session::Callable> with_losses_;  // null: no check was asked for
  std::vector<bool> losses_;                        // whose values it gives
  std::unique_ptr<Session::Callable>
      transpose_;  // feeds whose examples lie along another axis than the first; null: none
};

// What there is to know of a step before it is replicated. To be called where the graph may grow.
struct TrainingStep {
  bool writes = false;           // variables
  std::vector<Endpoint> losses;  // whose gradients it follows; none: it does not train
  // What it takes from datasets and queues, or the noise that is its batch: to be had once, before it is sharded.
  std::vector<Value> sources;
  std::string why = {};  // not empty: it trains, but cannot be replicated
};
TrainingStep analyze_training_step(ImportedGraph& graph, const StepValues& values);

// By feed, the axis along which it brings the batch, or -1. The first axis, where the graph leaves its size open (where
// it leaves all open, if it is fed as many rows as the others); another that alone is open, where the first ones are as
// many or there are none ([features, None]: examples in columns). Where no first axis is open, it may be the one of the
// size that most have, [32, None] for sentences as long as they come: tried before or after columns, the likelier
// first. INVALID_ARGUMENT: none does, or not all bring the same number of examples.
Result<std::vector<std::vector<int>>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                                     std::span<const Tensor> tensors);

}  // namespace argosy::tf
