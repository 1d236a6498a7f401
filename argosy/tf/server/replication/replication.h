// Replication: which steps of a session run on all its GPUs, a shard of the batch on each, and that they find what
// other steps have written. Thread-safe: replicated steps run one after the other, the rest as they come.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/replication/replicated_step.h"
#include "argosy/tf/server/replication/step_check.h"
#include "argosy/tf/server/replication/step_exclusion.h"
#include "argosy/tf/server/service/resolved_step.h"

namespace argosy::tf {

// What is known of one step.
struct StepReplicas {
  struct Variant {
    std::unique_ptr<ReplicatedStep> step;  // null: not replicated with feeds of this kind
    OneDeviceReason why_not;               // then
    std::string summary;
    std::int64_t fresh = -1;  // its mirrors hold what had been written by then
    int checked = 0;          // runs that were compared with one device's, or could not be
    std::int64_t tries = 0;   // of a comparison
  };
  TrainingStep step;
  std::string loss;                          // the name of the first; "" without
  OneDeviceReason why_not;                   // of a step that trains and cannot be replicated, whatever is fed
  StepValues values;                         // with its sources among the feeds
  std::unique_ptr<Session::Callable> bring;  // gives the sources; null: there are none
  std::unique_ptr<Session::Callable> rest;   // all on one device, sources fed
  std::unique_ptr<StepCheck> check;          // null: not asked for
  std::unique_ptr<Session::Callable> alone;  // then: as rest, with the losses behind the fetches
  std::int64_t runs = 0;                     // replicated so far
  std::map<std::string, Variant> by_feeds;   // by the kind of its feeds: ranks, equal rows
};

class Replication {
 public:
  // `session` and `graph`, whose device set it is, outlive it, and so does `counter`, which is told what was replicated,
  // what could not be and why. On a device set of fewer than two GPUs that is the reason of every step.
  Replication(Session& session, ImportedGraph& graph, std::shared_ptr<DeviceSet> device_set, ReplicationOptions how,
              ReplicaCounter& counter);

  // Runs the step: replicated if it trains and can be, else as it is.
  Status run(ResolvedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Somebody runs this as a partial run, which is not replicated.
  void runs_partially(const StepValues& values);
  // A step that does not come through run() is under way while this lives.
  StepExclusion::Shared enter_shared(bool writes) { return exclusion_.enter(writes); }
  // Somebody has run what may have written variables, not through run().
  void variables_written() { written_.fetch_add(1, std::memory_order_release); }
  // Ends what is under way (CANCELLED). Idempotent.
  Status close();

 private:
  Result<std::shared_ptr<StepReplicas>> look_up(ResolvedStep& step);
  // Of feeds of this kind; null: of more kinds than are told apart.
  Result<StepReplicas::Variant*> variant(StepReplicas& step, std::span<const Tensor> feeds);
  StepReplicas::Variant make(const StepReplicas& step, std::span<const Tensor> feeds) ARGOSY_REQUIRES(mutex_);
  // Tells of a reason, in the log where it is new.
  void refuse(const OneDeviceReason& why);
  Status run_alone(const StepReplicas& known, Session::Callable& step, std::span<const Tensor> feeds,
                   std::span<Tensor> fetches, const RunOptions& options);
  // False when the mirrors could not be given their values; why is in `no_mirrors`.
  Result<bool> run_replicated(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds,
                              std::span<Tensor> fetches, const RunOptions& options, Status& no_mirrors);
  Status refresh(StepReplicas::Variant& variant, const RunOptions& options) ARGOSY_REQUIRES(running_);
  // Beside one device. False: it is still to be run.
  Result<bool> run_checked(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds,
                           std::span<Tensor> fetches, const RunOptions& options) ARGOSY_REQUIRES(running_);

  Session& session_;
  ImportedGraph& graph_;
  const std::shared_ptr<DeviceSet> device_set_;
  const ReplicationOptions how_;
  ReplicaCounter& counter_;
  bool enough_gpus_ = false;
  std::atomic<std::int64_t> written_{0};  // times that variables were written but by replicated steps
  Mutex mutex_;                           // what is known of steps
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<StepReplicas>> steps_ ARGOSY_GUARDED_BY(mutex_);
  StepExclusion exclusion_;  // of steps on one device, and of one that is checked
  Mutex running_;            // held while a replicated step runs; taken after mutex_ was given back
};

}  // namespace argosy::tf
