#include "argosy/tf/worker/shared_sessions.h"

#include <utility>

#include "argosy/base/guard.h"

namespace argosy::tf {

Result<std::string> SharedSessions::add_graph(const std::string& handle,
                                              const std::function<std::shared_ptr<WorkerSession>()>& make,
                                              const std::function<Result<std::string>(WorkerSession&)>& add) {
  std::shared_ptr<WorkerSession> session;
  {
    MutexLock lock(mutex_);
    Entry& entry = sessions_[handle];
    if (entry.session == nullptr) entry.session = make();
    ++entry.adding;
    session = entry.session;
  }
  Result<std::string> graph = guarded([&] { return add(*session); });
  MutexLock lock(mutex_);
  const auto at = sessions_.find(handle);
  if (at == sessions_.end() || at->second.session != session) return graph;  // all were removed meanwhile
  --at->second.adding;
  if (graph.ok()) at->second.graphs.insert(*graph);
  if (at->second.adding == 0 && at->second.graphs.empty()) sessions_.erase(at);  // `session` goes with no lock held
  return graph;
}

std::shared_ptr<WorkerSession> SharedSessions::find(const std::string& handle) const {
  MutexLock lock(mutex_);
  const auto at = sessions_.find(handle);
  return at == sessions_.end() ? nullptr : at->second.session;
}

void SharedSessions::remove_graph(const std::string& handle, const std::string& graph) {
  std::shared_ptr<WorkerSession> gone;  // with no lock held
  MutexLock lock(mutex_);
  const auto at = sessions_.find(handle);
  if (at == sessions_.end() || at->second.graphs.erase(graph) == 0) return;
  if (at->second.adding > 0 || !at->second.graphs.empty()) return;
  gone = std::move(at->second.session);
  sessions_.erase(at);
}

std::vector<std::shared_ptr<WorkerSession>> SharedSessions::remove_all() {
  std::map<std::string, Entry> all;
  {
    MutexLock lock(mutex_);
    all.swap(sessions_);
  }
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  for (auto& [handle, entry] : all) sessions.push_back(std::move(entry.session));
  return sessions;
}

std::size_t SharedSessions::size() const {
  MutexLock lock(mutex_);
  return sessions_.size();
}

}  // namespace argosy::tf
