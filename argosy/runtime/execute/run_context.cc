#include "argosy/runtime/execute/run_context.h"

#include "argosy/base/guard.h"

namespace argosy {

Status RunContext::send(std::string_view key, Tensor value) {
  Received waiting;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    const auto [at, fresh] = meetings_.try_emplace(std::string(key));
    Meeting& m = at->second;
    if (m.sent) return internal_error("\"", key, "\" was sent twice");
    if (!m.waiting) {
      m.value = value.owned();
      m.sent = true;
      return ok_status();
    }
    waiting = std::move(m.waiting);
    meetings_.erase(at);
  }
  waiting(ok_status(), value.owned());
  return ok_status();
}

void RunContext::receive(std::string_view key, Received done) {
  Status aborted;
  Tensor value;
  {
    MutexLock lock(mutex_);
    aborted = aborted_;
    if (aborted.ok()) {
      const auto [at, fresh] = meetings_.try_emplace(std::string(key));
      if (!at->second.sent) {
        at->second.waiting = std::move(done);
        return;
      }
      value = std::move(at->second.value);
      meetings_.erase(at);
    }
  }
  done(aborted, std::move(value));
}

void RunContext::abort(const Status& reason) {
  std::map<std::string, Meeting, std::less<>> meetings;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = copy_of(reason);
    meetings.swap(meetings_);
  }
  for (auto& [key, m] : meetings) {
    if (m.waiting) tell_last(m.waiting, "the end of a receiver", copy_of(reason), Tensor());
  }
}

}  // namespace argosy
