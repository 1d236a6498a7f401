#include "argosy/runtime/execute/run_context.h"

#include "argosy/base/guard.h"

namespace argosy {

Status RunContext::send(std::string_view key, Tensor value) {
  Received waiting;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    const auto [at, fresh] = rendezvous_.try_emplace(std::string(key));
    RendezvousEntry& m = at->second;
    if (m.sent) return internal_error("\"", key, "\" was sent twice");
    if (!m.waiting) {
      m.value = value.owned();
      m.sent = true;
      return ok_status();
    }
    waiting = std::move(m.waiting);
    rendezvous_.erase(at);
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
      const auto [at, fresh] = rendezvous_.try_emplace(std::string(key));
      if (!at->second.sent) {
        at->second.waiting = std::move(done);
        return;
      }
      value = std::move(at->second.value);
      rendezvous_.erase(at);
    }
  }
  done(aborted, std::move(value));
}

void RunContext::abort(const Status& reason) {
  std::map<std::string, RendezvousEntry, std::less<>> rendezvous;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = copy_of(reason);
    rendezvous.swap(rendezvous_);
  }
  for (auto& [key, m] : rendezvous) {
    if (m.waiting) call_and_release(m.waiting, "the end of a receiver", copy_of(reason), Tensor());
  }
}

}  // namespace argosy
