// Replication: which steps of a session run on all its GPUs, a share of the batch on each, and that they find what
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
#include "argosy/runtime/session.h"
#include "argosy/tf/session/prepared_step.h"
#include "argosy/tf/session/replicated_step.h"
#include "argosy/tf/session/work_totals.h"

namespace argosy::tf {

// What is known of one step.
struct StepReplicas {
  struct Variant {
    std::unique_ptr<ReplicatedStep> step;  // null: not replicated with feeds of this kind
    std::string summary;
    std::int64_t fresh = -1;  // its mirrors hold what had been written by then
  };
  TrainingStep step;
  StepValues values;                         // with its sources among the feeds
  std::unique_ptr<Session::Callable> bring;  // gives the sources; null: there are none
  std::unique_ptr<Session::Callable> rest;   // all on one device, sources fed
  std::map<std::string, Variant> by_feeds;   // by the kind of its feeds: ranks, equal rows
};

class Replication {
 public:
  // `session` and `graph`, whose machine it is, outlive it; `work`, when given, is told what was replicated and what
  // could not be.
  Replication(Session& session, ImportedGraph& graph, std::shared_ptr<Machine> machine, ReplicationOptions how,
              WorkCounter* work)
      : session_(session), graph_(graph), machine_(std::move(machine)), how_(how), work_(work) {}

  // Runs the step: replicated if it trains and can be, else as it is.
  Status run(PreparedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options);
  // Somebody has run what may have written variables, not through run().
  void variables_written() { written_.fetch_add(1, std::memory_order_release); }
  // Ends what is under way (CANCELLED). Idempotent.
  Status close();

 private:
  Result<std::shared_ptr<StepReplicas>> look_up(PreparedStep& step);
  // Null: not replicated.
  Result<StepReplicas::Variant*> variant(StepReplicas& step, std::span<const Tensor> feeds);
  StepReplicas::Variant make(const StepReplicas& step, std::span<const Tensor> feeds) ARGOSY_REQUIRES(mutex_);
  void refuse(const std::string& why);
  Status run_alone(const StepReplicas& known, Session::Callable& step, std::span<const Tensor> feeds,
                   std::span<Tensor> fetches, const RunOptions& options);
  // False when the mirrors could not be given their values.
  Result<bool> run_shared(StepReplicas::Variant& variant, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                          const RunOptions& options);

  Session& session_;
  ImportedGraph& graph_;
  const std::shared_ptr<Machine> machine_;
  const ReplicationOptions how_;
  WorkCounter* const work_;
  std::atomic<std::int64_t> written_{0};  // times that variables were written but by replicated steps
  Mutex mutex_;                           // what is known of steps
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<StepReplicas>> steps_ ARGOSY_GUARDED_BY(mutex_);
  Mutex running_;  // held while a replicated step runs; taken after mutex_ was given back
};

}  // namespace argosy::tf
