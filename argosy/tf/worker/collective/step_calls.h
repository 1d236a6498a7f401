// StepCalls: the pending waits of collectives of this task's steps: members that wait for their group, and calls to
// other tasks. They are kept by step, so that a failing step ends them all. Thread-safe; callbacks are called with no
// lock held.
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

  // Registers a wait. `met`: the waiting member's callback; null: only a call waits.
  Token add(std::int64_t step_id, KeyedTasks::Met met) ARGOSY_EXCLUDES(mutex_);
  // Sets the running call of a wait. Cancels the call if the wait has ended.
  void set_call(Token token, const std::shared_ptr<RpcClientCall>& call) ARGOSY_EXCLUDES(mutex_);
  // Ends a wait whose call has its answer.
  void remove(Token token) ARGOSY_EXCLUDES(mutex_);
  // Ends a member's wait, and passes it the result. Only the first call of it has an effect.
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
