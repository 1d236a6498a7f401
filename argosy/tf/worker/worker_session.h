// WorkerSession: the part of a master's session on this task: its graphs, and the state that their ops keep between
// runs. WorkerSessions: all of them, by handle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/tasks/task_graphs.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

// Thread-safe. Steps that run hold it.
class WorkerSession {
 public:
  // `steps` outlives it.
  WorkerSession(std::shared_ptr<DeviceSet> device_set, std::shared_ptr<Peers> peers, StepRendezvous& steps)
      : peers_(std::move(peers)),
        op_state_(std::make_shared<ResourceManager>()),
        graphs_(std::move(device_set), steps, op_state_) {}
  ~WorkerSession() { op_state_->clear(); }

  TaskGraphs& graphs() { return graphs_; }
  const std::shared_ptr<Peers>& peers() const { return peers_; }

 private:
  const std::shared_ptr<Peers> peers_;  // the tasks that its steps run on
  const std::shared_ptr<ResourceManager> op_state_;
  TaskGraphs graphs_;
};

// Thread-safe.
class WorkerSessions {
 public:
  static constexpr std::size_t kUnused = 1024;  // limit on sessions that were never used; the oldest are removed
  static constexpr std::size_t kMost = 16384;

  // The master that made a session. Another incarnation of the same task ends the sessions of the earlier one.
  struct Master {
    std::string task;  // "": not known
    std::int64_t incarnation = 0;
  };

  // ALREADY_EXISTS "ARG-CLUSTER-011": there is one of this handle. RESOURCE_EXHAUSTED "ARG-CLUSTER-126": there are too
  // many that are used.
  Status add(const std::string& handle, Master master, std::shared_ptr<WorkerSession> session) ARGOSY_EXCLUDES(mutex_);
  // ABORTED "ARG-CLUSTER-012" in TensorFlow's words: there is none, so this task was probably started anew.
  Result<std::shared_ptr<WorkerSession>> find(const std::string& handle, const TaskName& own) ARGOSY_EXCLUDES(mutex_);
  // Ends its runs. False: there was none.
  bool remove(const std::string& handle) ARGOSY_EXCLUDES(mutex_);
  void remove_all() ARGOSY_EXCLUDES(mutex_);
  std::size_t size() const ARGOSY_EXCLUDES(mutex_);

 private:
  struct Entry {
    Master master;
    std::shared_ptr<WorkerSession> session;
    std::int64_t place = 0;  // key in unused_; 0: the session was used
  };
  using Sessions = std::map<std::string, Entry>;
  std::shared_ptr<WorkerSession> erase(Sessions::iterator at) ARGOSY_REQUIRES(mutex_);
  static void end(const std::shared_ptr<WorkerSession>& session);

  mutable Mutex mutex_;
  Sessions sessions_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<std::int64_t, std::string> unused_ ARGOSY_GUARDED_BY(mutex_);  // place -> handle, the oldest first
};

// ABORTED "ARG-CLUSTER-012".
Status session_not_found(const std::string& handle, const TaskName& own);

}  // namespace argosy::tf
