#include "argosy/tf/worker/worker_session.h"

#include "argosy/op/kernel/derived_status.h"

namespace argosy::tf {

void WorkerSessions::end(const std::shared_ptr<WorkerSession>& session) {
  session->graphs().abort_all(derived_status(cancelled("the session was closed by its master")));
}

Status WorkerSessions::add(const std::string& handle, Master master, std::shared_ptr<WorkerSession> session) {
  std::vector<std::shared_ptr<WorkerSession>> old;
  {
    MutexLock lock(mutex_);
    if (sessions_.contains(handle)) {
      return already_exists("there is a session ", handle, " on this task").with_id("ARG-CLUSTER-011");
    }
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const Master& other = at->second.master;
      if (!master.task.empty() && other.task == master.task && other.incarnation != master.incarnation) {
        old.push_back(std::move(at->second.session));
        at = sessions_.erase(at);
      } else {
        ++at;
      }
    }
    sessions_.emplace(handle, Entry{std::move(master), std::move(session)});
  }
  for (const auto& ended : old) end(ended);
  return ok_status();
}

Result<std::shared_ptr<WorkerSession>> WorkerSessions::find(const std::string& handle, const TaskName& own) const {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found != sessions_.end()) return found->second.session;
  return aborted("Session handle is not found: ", handle.substr(0, 64), ". Possibly this worker (\"", own,
                 "\") just restarted.")
      .with_id("ARG-CLUSTER-012");
}

bool WorkerSessions::remove(const std::string& handle) {
  std::shared_ptr<WorkerSession> session;
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) return false;
    session = std::move(found->second.session);
    sessions_.erase(found);
  }
  end(session);
  return true;
}

void WorkerSessions::remove_all() {
  std::map<std::string, Entry> all;
  {
    MutexLock lock(mutex_);
    all.swap(sessions_);
  }
  for (const auto& [handle, entry] : all) end(entry.session);
}

std::size_t WorkerSessions::size() const {
  MutexLock lock(mutex_);
  return sessions_.size();
}

}  // namespace argosy::tf
