// PartialRun: one run of a graph in several calls. Each call feeds and fetches some of the announced values.
//
// A call runs the nodes that its fetches need and no earlier call ran. Values that later calls take are kept and fed to
// them. Nodes that only name things (variables, queues) run in every call that needs them.
// Thread-safe: calls run one after the other.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/tf/server/session/resolved_step.h"
#include "argosy/tf/worker/cluster_tasks.h"

namespace argosy::tf {

class PartialRun {
 public:
  // Copies what it needs of the graph. `tasks`: the others of the session's cluster; null: none.
  // Errors are those of find_values().
  static Result<std::shared_ptr<PartialRun>> make(Session& session, ImportedGraph& graph, const StepNames& names,
                                                  std::shared_ptr<DeviceSet> device_set,
                                                  std::shared_ptr<ClusterTasks> tasks, bool soft_placement);

  // INVALID_ARGUMENT: a name that was not announced, was fed or fetched before, or needs what was not fed yet. After an
  // error it is over.
  Result<std::vector<Tensor>> run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                  const std::vector<std::string>& fetches, Cancellation& cancellation,
                                  StuckObserver* stuck = nullptr);
  bool over() const;

 private:
  struct Stage;
  PartialRun() = default;

  Status collect(Endpoint from, Stage& stage) const ARGOSY_REQUIRES(mutex_);
  Status collect_node(NodeId from, Stage& stage) const ARGOSY_REQUIRES(mutex_);
  void keep_for_later(Stage& stage) const ARGOSY_REQUIRES(mutex_);
  void forget_controls(const Stage& stage) ARGOSY_REQUIRES(mutex_);
  // Makes the same thing each time, and changes nothing: may run again.
  bool repeatable(const Node& node) const;

  mutable Mutex mutex_;
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
