// Replication: runs the training steps of a session on all its GPUs, a shard of the batch on each. Refreshes the
// mirrors of variables after other steps' writes. Thread-safe: replicated steps run one after another, other steps
// concurrently.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/session/interruptible_mutex.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/server/replication/advice/step_advisor.h"
#include "argosy/tf/server/replication/check/step_check.h"
#include "argosy/tf/server/replication/check/step_exclusion.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/replication/replicated_step.h"
#include "argosy/tf/server/replication/slot_tracker.h"
#include "argosy/tf/server/session/cancellable_mutex.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// The analysis of one step of the client, and its replicated variants.
struct StepReplicas {
  struct Variant {
    std::unique_ptr<ReplicatedStep> step;  // null: the step is not replicated with feeds of this kind
    OneDeviceReason why_not;               // if `step` is null
    std::string summary;
    std::int64_t fresh = -1;  // the mirrors include all writes up to this count (Replication::written_)
    int checked = 0;          // runs that were compared with one device's, or could not be
    std::int64_t tries = 0;   // attempts to compare
    bool compiled = false;    // for feeds that can be sharded
    OneDeviceReason stays;    // why it stays on one device: faster there, or not compilable; empty `why`: it does not
    std::optional<StepTimes> times;
  };
  TrainingStep step;
  OneDeviceReason why_not;                   // why a training step is never replicated; empty `why`: it may be
  StepValues values;                         // as the client requests it, with the sources appended to the feeds
  std::unique_ptr<Session::Callable> bring;  // computes the sources; null: there are none
  std::unique_ptr<Session::Callable> rest;   // the step on one device, sources fed
  std::unique_ptr<StepCheck> check;          // null: no check was requested
  std::unique_ptr<Session::Callable> alone;  // with a check: as rest, with losses after the fetches
  std::int64_t runs = 0;                     // replicated runs so far
  std::set<ResourceName> variables;          // the variables that the step uses; only with ZeRO-1
  std::map<std::string, Variant> by_feeds;   // by the kind of the feeds: ranks, equal numbers of rows

  bool may_replicate() const { return !step.trains.empty() && why_not.why.empty(); }
};

class Replication {
 public:
  // `session`, `graph` and `counter` outlive this object; `device_set` is the session's. `counter` records what was
  // replicated, and why other steps were not. With fewer than two GPUs no step is replicated, for that reason.
  Replication(Session& session, ImportedGraph& graph, std::shared_ptr<DeviceSet> device_set, ReplicationOptions how,
              ReplicaCounter& counter);

  // Runs the step: replicated if it trains and can be replicated, else on one device.
  Status run(ResolvedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Records that a training step came as a partial run, which is not replicated.
  void runs_partially(const StepValues& values);
  // Registers a step that does not go through run(), for as long as the result lives.
  Result<StepExclusion::Shared> enter_shared(bool writes, Cancellation& cancellation) {
    return exclusion_.enter(writes, &cancellation);
  }
  // Brings all sharded slots back to the client's variables (ZeRO-1). Call it before a step that does not go through
  // run().
  Status gather_slots(Cancellation& cancellation);
  // Records that variables may have been written outside run().
  void variables_written() { written_.fetch_add(1, std::memory_order_release); }
  // Ends runs in progress (CANCELLED). begin_close() does not wait for them. Idempotent.
  void begin_close();
  Status close();

 private:
  // look_up() and variant() end when the call is cancelled, also while they wait for another step's analysis.
  Result<std::shared_ptr<StepReplicas>> look_up(ResolvedStep& step, const Cancellation* cancellation);
  // Returns the variant for feeds of this kind; null: there are too many kinds.
  Result<StepReplicas::Variant*> variant(StepReplicas& step, std::span<const Tensor> feeds,
                                         const Cancellation* cancellation);
  // Makes a variant. Returns an error only if it was interrupted; other errors become the variant's `why_not`.
  Result<StepReplicas::Variant> make(const StepReplicas& step, std::span<const Tensor> feeds) ARGOSY_REQUIRES(mutex_);
  // Counts a reason, and logs it if it is new.
  void refuse(const OneDeviceReason& why);
  // Returns why no step of this session can be replicated; "": some may be.
  std::string devices_why_not() const;
  Status run_alone(const StepReplicas& known, Session::Callable& step, std::span<const Tensor> feeds,
                   std::span<Tensor> fetches, const RunOptions& options);
  // False if the mirrors could not get their values; `no_mirrors` says why.
  Result<bool> run_replicated(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds,
                              std::span<Tensor> fetches, const RunOptions& options, Status& no_mirrors);
  static Status take(CancellableMutex::Lock& call_lock, Cancellation* cancellation);
  Status refresh(StepReplicas::Variant& variant, const RunOptions& options) ARGOSY_REQUIRES(running_);
  // Before the first replicated run: compiles the step for these feeds, and asks the cost model.
  void prepare(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds)
      ARGOSY_REQUIRES(running_);
  void ask(const StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds)
      ARGOSY_REQUIRES(running_);
  // Adds to the summary how the step differs from the replayed plan's.
  void compare_with_plan(const StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds)
      ARGOSY_REQUIRES(running_);
  // Runs the step replicated and on one device, and compares. False: the step did not run.
  Result<bool> run_checked(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds,
                           std::span<Tensor> fetches, const RunOptions& options) ARGOSY_REQUIRES(running_);

  Session& session_;
  ImportedGraph& graph_;
  const std::shared_ptr<DeviceSet> device_set_;
  const ReplicationOptions how_;
  ReplicaCounter& counter_;
  ReplicaDevices devices_;
  std::atomic<std::int64_t> written_{0};  // number of writes to variables outside replicated steps
  std::atomic<bool> closed_{false};
  InterruptibleMutex mutex_;  // guards steps_ and their analyses; held while a step is analysed
  std::vector<std::shared_ptr<StepReplicas>> steps_ ARGOSY_GUARDED_BY(mutex_);
  StepExclusion exclusion_;      // between steps on one device and a checked step
  CancellableMutex call_mutex_;  // serialises all users of running_; waiting ends when the call is cancelled
  Mutex running_;                // held during a replicated run; taken under call_mutex_, without mutex_
  StepAdvisor advisor_ ARGOSY_GUARDED_BY(running_);
  SlotTracker slots_ ARGOSY_GUARDED_BY(running_);
};

}  // namespace argosy::tf
