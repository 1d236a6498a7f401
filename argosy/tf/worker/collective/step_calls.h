// StepCalls: what collectives of this task's steps wait for: members that wait for the others, and calls to other tasks.
// By step, so that a step that fails ends them all. Thread-safe; callbacks are called with no lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ops/collective/keyed_tasks.h"
#include "argosy/rpc/transport/rpc_channel.h"

namespace argosy::tf {

class StepCalls {
 public:
  using Token = std::int64_t;

  // `met`: the member that waits; null: only a call does.
  Token add(std::int64_t step_id, KeyedTasks::Met met) ARGOSY_EXCLUDES(mutex_);
  // The call that is under way for it. Cancelled where it does not wait any more.
  void set_call(Token token, const std::shared_ptr<RpcClientCall>& call) ARGOSY_EXCLUDES(mutex_);
  // It does not wait any more: a call has its answer.
  void remove(Token token) ARGOSY_EXCLUDES(mutex_);
  // The same of a member, which is told. Only the first counts.
  void finish(Token token, Result<KeyedTasks::Membership> membership) ARGOSY_EXCLUDES(mutex_);
  // Cancels the calls of a step, and tells its members why.
  void end(std::int64_t step_id, const Status& why) ARGOSY_EXCLUDES(mutex_);
  std::vector<std::int64_t> steps() const ARGOSY_EXCLUDES(mutex_);

 private:
  struct Waiting {
    std::int64_t step_id = 0;
    KeyedTasks::Met met;
    std::shared_ptr<RpcClientCall> call;
  };
  mutable Mutex mutex_;
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<Token, Waiting> waiting_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
