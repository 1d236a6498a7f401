// StuckCall: answers the call of a step whose kernel does not end, and lists the step on the server's status pages.
#pragma once

#include "argosy/rpc/transport/call_context.h"
#include "argosy/runtime/device_set/watchdog.h"
#include "argosy/tf/server/service/stuck_steps.h"
#include "argosy/tf/server/session/step_response.h"

namespace argosy::tf {

// The observer of one run of a step. `all` (may be null), `call` and `task` outlive it.
class StuckCall final : public StuckObserver {
 public:
  // `errors_in_body`: the client wants a step's error inside the response.
  // `task`: this task's name, for error texts.
  StuckCall(StuckSteps* all, CallContext& call, bool errors_in_body, std::string_view task)
      : all_(all), call_(call), errors_in_body_(errors_in_body), task_(task) {}
  void stuck(const StuckStep& step) override {
    if (all_ != nullptr) all_->add(this, step);
    if (errors_in_body_) {
      call_.reply_early(error_response(step.status, task_));
    } else {
      call_.reply_early(step.status);
    }
  }
  void ended(const StuckStep&) override {
    if (all_ != nullptr) all_->remove(this);
  }

 private:
  StuckSteps* const all_;
  CallContext& call_;
  const bool errors_in_body_;
  const std::string_view task_;
};

}  // namespace argosy::tf
