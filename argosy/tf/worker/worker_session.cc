#include "argosy/tf/worker/worker_session.h"

#include <utility>

#include "argosy/op/kernel/derived_status.h"

namespace argosy::tf {

void WorkerSessions::end(const std::shared_ptr<WorkerSession>& session) {
  session->graphs().abort_all(derived_status(cancelled("the session was closed by its master")));
}

Status session_not_found(const std::string& handle, const TaskName& own) {
  return aborted("Session handle is not found: ", handle.substr(0, 64), ". Possibly this worker (\"", own,
                 "\") just restarted.")
      .with_id("ARG-CLUSTER-012");
}

std::shared_ptr<WorkerSession> WorkerSessions::erase(Sessions::iterator at) {
  std::shared_ptr<WorkerSession> session = std::move(at->second.session);
  unused_.erase(at->second.place);
  sessions_.erase(at);
  return session;
}

Status WorkerSessions::add(const std::string& handle, Master master, std::shared_ptr<WorkerSession> session) {
  std::vector<std::shared_ptr<WorkerSession>> old;
  Status refused;
  {
    MutexLock lock(mutex_);
    if (sessions_.contains(handle)) {
      return already_exists("there is a session ", handle, " on this task").with_id("ARG-CLUSTER-011");
    }
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const auto entry = at++;
      const Master& other = entry->second.master;
      if (!master.task.empty() && other.task == master.task && other.incarnation != master.incarnation) {
        old.push_back(erase(entry));
      }
    }
    while (unused_.size() >= kUnused) old.push_back(erase(sessions_.find(unused_.begin()->second)));
    if (sessions_.size() >= kMost) {
      refused = resource_exhausted(sessions_.size(), " sessions of masters are open on this task")
                    .with_id("ARG-CLUSTER-126")
                    .with_hint("close sessions that are not used, or start the task again");
    } else {
      unused_.emplace(next_, handle);
      sessions_.emplace(handle, Entry{std::move(master), std::move(session), next_++});
    }
  }
  for (const auto& ended : old) end(ended);
  return refused;
}

Result<std::shared_ptr<WorkerSession>> WorkerSessions::find(const std::string& handle, const TaskName& own) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return session_not_found(handle, own);
  unused_.erase(std::exchange(found->second.place, 0));
  return found->second.session;
}

bool WorkerSessions::remove(const std::string& handle) {
  std::shared_ptr<WorkerSession> session;
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) return false;
    session = erase(found);
  }
  end(session);
  return true;
}

void WorkerSessions::remove_all() {
  Sessions all;
  {
    MutexLock lock(mutex_);
    all.swap(sessions_);
    unused_.clear();
  }
  for (const auto& [handle, entry] : all) end(entry.session);
}

std::size_t WorkerSessions::size() const {
  MutexLock lock(mutex_);
  return sessions_.size();
}

}  // namespace argosy::tf
