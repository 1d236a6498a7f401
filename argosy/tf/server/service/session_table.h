// SessionTable: the open sessions of a server by handle. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/tf/server/session/client_session.h"

namespace argosy::tf {

struct SessionInfo {
  std::string handle;
  int running_calls = 0;
  double idle_seconds = 0;  // 0 while a call is running
};

class SessionTable {
 public:
  explicit SessionTable(int max_sessions) : max_sessions_(max_sessions) {}

  // Makes a session under a new handle, 16 random hexadecimal digits, and returns the handle.
  // RESOURCE_EXHAUSTED (ARG-RPC-004): there are as many sessions as allowed.
  Result<std::string> add(ClientSession::Options options, std::string_view graph_def) ARGOSY_EXCLUDES(mutex_);
  // ABORTED (ARG-RPC-003): there is no such session.
  Result<std::shared_ptr<ClientSession>> find(std::string_view handle) const ARGOSY_EXCLUDES(mutex_);
  // Removes a session and returns it. ABORTED (ARG-RPC-003): there is no such session.
  Result<std::shared_ptr<ClientSession>> take(std::string_view handle) ARGOSY_EXCLUDES(mutex_);
  std::vector<std::shared_ptr<ClientSession>> take_all() ARGOSY_EXCLUDES(mutex_);
  // Removes and returns the sessions without a call for `lease`, and those whose client is gone for `client_lease`.
  // Zero: never.
  std::vector<std::shared_ptr<ClientSession>> take_expired(std::chrono::seconds lease,
                                                           std::chrono::seconds client_lease) ARGOSY_EXCLUDES(mutex_);

  bool empty() const ARGOSY_EXCLUDES(mutex_);
  std::vector<SessionInfo> infos() const ARGOSY_EXCLUDES(mutex_);

 private:
  const int max_sessions_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ClientSession>, std::less<>> sessions_ ARGOSY_GUARDED_BY(mutex_);
  int opening_ ARGOSY_GUARDED_BY(mutex_) = 0;  // sessions being created, which count towards max_sessions_
};

}  // namespace argosy::tf
