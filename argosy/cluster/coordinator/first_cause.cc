#include "argosy/cluster/coordinator/first_cause.h"

namespace argosy {

CauseKind kind_of_cause(const Status& cause) {
  switch (cause.code()) {
    case Code::kCancelled:
    case Code::kAborted:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded: return CauseKind::kFollows;
    default: return CauseKind::kOwn;
  }
}

void FirstCause::report(CauseKind kind, Status cause, std::int64_t now) {
  if (!decided_.ok()) return;
  if (kind != CauseKind::kFollows) {
    candidate_ = std::move(cause);
    due_ = now;
  } else if (candidate_.ok()) {
    candidate_ = std::move(cause);
    due_ = now + std::chrono::nanoseconds(kGrace).count();
  }
  if (now >= due_) decided_ = candidate_;
}

bool FirstCause::decide(std::int64_t now) {
  if (!decided_.ok() || candidate_.ok() || now < due_) return false;
  decided_ = candidate_;
  return true;
}

Status with_task(const Status& cause, int rank, const std::string& host) {
  const std::string task = str_cat("task ", rank, host.empty() ? "" : str_cat(" (", host, ")"));
  if (cause.where().find("task ") != std::string::npos) return cause;  // it says so
  return Status(cause.code(), cause.message())
      .with_id(std::string(cause.id()))
      .with_where(cause.where().empty() ? task : str_cat(cause.where(), ", ", task))
      .with_hint(cause.hint());
}

}  // namespace argosy
