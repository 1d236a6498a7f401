#include "argosy/ops/queue/queue_state.h"

namespace argosy {

QueueState::QueueState(std::string name, QueueOptions options)
    : operations_(std::make_shared<QueueOperations>(std::move(name), std::move(options))) {}

std::string QueueState::describe() const {
  return str_cat(options().kind_name(), " of ", options().dtypes.size(), " components");
}

std::shared_ptr<QueueOperation> QueueState::operation(QueueAttempt::Action action, const Caller& caller, Done done) {
  return std::make_shared<QueueOperation>(action, caller.memory, caller.cancellation, std::move(done));
}

void QueueState::enqueue(Tuple element, const Caller& caller, Done done) {
  if (Status fits = options().check_element(element); !fits.ok()) return done(std::move(fits), {});
  auto asked = operation(QueueAttempt::Action::kEnqueue, caller, std::move(done));
  asked->rows = std::move(element);
  operations_->start(std::move(asked));
}

void QueueState::enqueue_many(Tuple rows, const Caller& caller, Done done) {
  if (Status fits = options().check_rows(rows); !fits.ok()) return done(std::move(fits), {});
  const std::int64_t count = rows[0].shape()[0];
  if (count == 0) return done(ok_status(), {});
  auto asked = operation(QueueAttempt::Action::kEnqueueMany, caller, std::move(done));
  asked->rows = std::move(rows);
  asked->left = count;
  operations_->start(std::move(asked));
}

void QueueState::dequeue(const Caller& caller, Done done) {
  operations_->start(operation(QueueAttempt::Action::kDequeue, caller, std::move(done)));
}

void QueueState::dequeue_many(std::int64_t count, bool up_to, const Caller& caller, Done done) {
  if (options().shapes.empty()) {
    return done(invalid_argument(options().kind_name(),
                                 "'s DequeueMany and DequeueUpTo require the components to have specified shapes."),
                {});
  }
  if (count == 0) {
    auto none = stacked_elements({}, options(), *caller.memory);
    return none.ok() ? done(ok_status(), *std::move(none)) : done(std::move(none).status(), {});
  }
  auto asked = operation(up_to ? QueueAttempt::Action::kDequeueUpTo : QueueAttempt::Action::kDequeueMany, caller,
                         std::move(done));
  asked->left = count;
  operations_->start(std::move(asked));
}

void QueueState::close(bool cancel_pending, const Caller& caller, Done done) {
  if (!cancel_pending) return operations_->start(operation(QueueAttempt::Action::kClose, caller, std::move(done)));
  operations_->close_and_cancel();
  done(ok_status(), {});
}

}  // namespace argosy
