// PartialRun: one run of a graph in several calls. Each call feeds and fetches some of the announced values.
//
// A call runs the nodes that its fetches depend on and that no earlier call ran. Values that later calls need are kept
// and fed to them. Nodes that only make handles (of variables, queues) run in every call that needs them.
// Thread-safe: calls run one after the other. Waiting for a turn ends when the call is cancelled.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/memory/host_budget.h"
#include "argosy/tf/server/session/cancellable_mutex.h"
#include "argosy/tf/server/session/client_session_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

class PartialRun {
 public:
  // Copies the needed part of the graph, which counts in the budget of host memory. Errors are those of find_values(),
  // and RESOURCE_EXHAUSTED "ARG-MEM-004".
  static Result<std::shared_ptr<PartialRun>> make(Session& session, ImportedGraph& graph, const StepNames& names,
                                                  const ClientSessionOptions& options);

  // Runs one call. INVALID_ARGUMENT: a name was not announced, was fed or fetched before, or depends on a feed that has
  // no value yet. After an error the partial run is over, unless the call was cancelled before its turn came.
  Result<std::vector<Tensor>> run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                  const std::vector<std::string>& fetches, Cancellation& cancellation,
                                  StuckObserver* stuck = nullptr);
  bool over() const { return over_.load(std::memory_order_acquire); }
  // End the running call, as Session::begin_close() and close() do.
  void begin_close() { session_->begin_close(); }
  Status close() { return session_->close(); }

 private:
  struct Stage;
  PartialRun() = default;

  Result<std::vector<Tensor>> run_stage(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                        const std::vector<std::string>& fetches, Cancellation& cancellation,
                                        StuckObserver* stuck) ARGOSY_REQUIRES(mutex_);

  Status collect(Endpoint from, Stage& stage) const ARGOSY_REQUIRES(mutex_);
  Status collect_node(NodeId from, Stage& stage) const ARGOSY_REQUIRES(mutex_);
  void keep_for_later(Stage& stage) const ARGOSY_REQUIRES(mutex_);
  void forget_controls(const Stage& stage) ARGOSY_REQUIRES(mutex_);

  CancellableMutex call_mutex_;  // taken before mutex_
  std::atomic<bool> over_{false};
  HostBudget::Reservation copied_;  // of graph_

  Mutex mutex_;
  Graph graph_ ARGOSY_GUARDED_BY(mutex_);
  std::unique_ptr<Session> session_;
  std::map<std::string, Endpoint, std::less<>> to_feed_, to_fetch_;
  std::vector<NodeId> targets_;
  std::set<Endpoint> awaited_ ARGOSY_GUARDED_BY(mutex_);         // announced feeds that have not come
  std::map<Endpoint, Tensor> values_ ARGOSY_GUARDED_BY(mutex_);  // fed, or kept from earlier calls
  std::set<NodeId> done_ ARGOSY_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> fetched_ ARGOSY_GUARDED_BY(mutex_);
  bool failed_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
