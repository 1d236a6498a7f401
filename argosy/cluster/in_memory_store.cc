#include "argosy/cluster/in_memory_store.h"

namespace argosy {

Status InMemoryStore::put(std::string_view key, std::string_view value) {
  const MutexLock lock(mutex_);
  if (!cause_.ok()) return cause_;
  const auto [at, added] = values_.emplace(key, value);
  if (!added && at->second != value)
    return already_exists("key '", key, "' has another value already").with_id("ARG-CLUSTER-002");
  changed_.notify_all();
  return ok_status();
}

Result<std::string> InMemoryStore::get(std::string_view key, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  bool in_time = true;
  while (true) {
    if (!cause_.ok()) return cause_;
    if (const auto at = values_.find(key); at != values_.end()) return at->second;
    if (!in_time)
      return deadline_exceeded("nobody put key '", key, "' within ", timeout.count(), " ms").with_id("ARG-CLUSTER-003");
    in_time = changed_.wait_until(mutex_, deadline);
  }
}

void InMemoryStore::abort(Status cause) {
  const MutexLock lock(mutex_);
  if (cause_.ok()) cause_ = std::move(cause);
  changed_.notify_all();
}

}  // namespace argosy
