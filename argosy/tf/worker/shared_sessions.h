// SharedSessions: sessions of masters that make none (CreateWorkerSession): all that such a master registers under one
// handle. A session is there as long as it has a graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/tf/worker/worker_session.h"

namespace argosy::tf {

// Thread-safe.
class SharedSessions {
 public:
  // Registers a graph in the session of that handle, which is made where there is none. The graph's handle, or the
  // error of `add`.
  Result<std::string> add_graph(const std::string& handle, const std::function<std::shared_ptr<WorkerSession>()>& make,
                                const std::function<Result<std::string>(WorkerSession&)>& add) ARGOSY_EXCLUDES(mutex_);
  // Null: it has no graph.
  std::shared_ptr<WorkerSession> find(const std::string& handle) const ARGOSY_EXCLUDES(mutex_);
  // Removes a graph. With its last graph the session ends, with the state of its ops.
  void remove_graph(const std::string& handle, const std::string& graph) ARGOSY_EXCLUDES(mutex_);
  std::vector<std::shared_ptr<WorkerSession>> remove_all() ARGOSY_EXCLUDES(mutex_);
  std::size_t size() const ARGOSY_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::shared_ptr<WorkerSession> session;
    int adding = 0;  // calls of add_graph() under way
    std::set<std::string> graphs;
  };
  mutable Mutex mutex_;
  std::map<std::string, Entry> sessions_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
