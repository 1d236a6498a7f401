#include "argosy/tf/server/service/session_table.h"

#include <cstdio>
#include <random>

#include "argosy/base/guard.h"

namespace argosy::tf {

namespace {

Status no_session(std::string_view handle) {
  return aborted("Session ", handle, " is not found. Possibly, this master has restarted.").with_id("ARG-RPC-003");
}

// Nobody can guess it.
std::string new_handle() {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(number));
  return text;
}

}  // namespace

Result<std::string> SessionTable::add(ClientSession::Options options, std::string_view graph_def) {
  {
    MutexLock lock(mutex_);
    if (static_cast<int>(sessions_.size()) + opening_ >= max_sessions_) {
      return resource_exhausted("there are ", max_sessions_, " sessions, as many as this server takes")
          .with_id("ARG-RPC-004")
          .with_hint("close sessions; --session-lease closes those of clients that are gone");
    }
    ++opening_;
  }
  auto session = guarded([&] {
    options.handle = new_handle();
    return ClientSession::create(std::move(options), graph_def);
  });
  MutexLock lock(mutex_);
  --opening_;
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  std::string handle = (*session)->handle();
  sessions_.emplace(handle, *std::move(session));
  return handle;
}

Result<std::shared_ptr<ClientSession>> SessionTable::find(std::string_view handle) const {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return no_session(handle);
  return found->second;
}

Result<std::shared_ptr<ClientSession>> SessionTable::take(std::string_view handle) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return no_session(handle);
  auto session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

std::vector<std::shared_ptr<ClientSession>> SessionTable::take_all() {
  std::vector<std::shared_ptr<ClientSession>> all;
  MutexLock lock(mutex_);
  for (auto& [handle, session] : sessions_) all.push_back(std::move(session));
  sessions_.clear();
  return all;
}

std::vector<std::shared_ptr<ClientSession>> SessionTable::take_expired(std::chrono::seconds lease,
                                                                       std::chrono::seconds client_lease) {
  const auto expires = [&](const SessionLease& session) {
    return (lease.count() > 0 && session.idle() > lease) ||
           (client_lease.count() > 0 && session.orphaned(client_lease));
  };
  std::vector<std::shared_ptr<ClientSession>> expired;
  MutexLock lock(mutex_);
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (expires(it->second->lease())) {
      expired.push_back(std::move(it->second));
      it = sessions_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

bool SessionTable::empty() const {
  MutexLock lock(mutex_);
  return sessions_.empty();
}

std::vector<SessionInfo> SessionTable::infos() const {
  MutexLock lock(mutex_);
  std::vector<SessionInfo> infos;
  for (const auto& [handle, session] : sessions_) {
    const SessionLease& lease = session->lease();
    infos.push_back({handle, lease.running_calls(), std::chrono::duration<double>(lease.idle()).count()});
  }
  return infos;
}

}  // namespace argosy::tf
