#include "argosy/tf/worker/collective/step_calls.h"

#include <utility>

namespace argosy::tf {

StepCalls::Token StepCalls::add(std::int64_t step_id, KeyedTasks::Met met) {
  MutexLock lock(mutex_);
  const Token token = next_++;
  waiting_.emplace(token, Waiting{.step_id = step_id, .met = std::move(met), .call = nullptr});
  return token;
}

void StepCalls::set_call(Token token, const std::shared_ptr<RpcClientCall>& call) {
  {
    MutexLock lock(mutex_);
    const auto at = waiting_.find(token);
    if (at != waiting_.end()) {
      at->second.call = call;
      return;
    }
  }
  call->cancel();  // its step was aborted meanwhile, or it has ended
}

void StepCalls::remove(Token token) {
  MutexLock lock(mutex_);
  waiting_.erase(token);
}

void StepCalls::finish(Token token, Result<KeyedTasks::Membership> membership) {
  KeyedTasks::Met met;
  {
    MutexLock lock(mutex_);
    const auto at = waiting_.find(token);
    if (at == waiting_.end()) return;
    met = std::move(at->second.met);
    waiting_.erase(at);
  }
  met(std::move(membership));
}

void StepCalls::end(std::int64_t step_id, const Status& why) {
  std::vector<Token> members;
  std::vector<std::shared_ptr<RpcClientCall>> calls;
  {
    MutexLock lock(mutex_);
    for (const auto& [token, waiting] : waiting_) {
      if (waiting.step_id != step_id) continue;
      if (waiting.met != nullptr) members.push_back(token);
      if (waiting.call != nullptr) calls.push_back(waiting.call);
    }
  }
  // A call that is cancelled may answer at once, with less of a cause.
  for (const Token token : members) finish(token, why);
  for (const auto& call : calls) call->cancel();
}

std::vector<std::int64_t> StepCalls::steps() const {
  MutexLock lock(mutex_);
  std::vector<std::int64_t> steps;
  for (const auto& [token, waiting] : waiting_) steps.push_back(waiting.step_id);
  return steps;
}

}  // namespace argosy::tf
