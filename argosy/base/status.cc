#include "argosy/base/status.h"

namespace argosy {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kAborted: return "ABORTED";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

namespace {
const std::string kEmpty;

std::string_view default_id(Code code) {
  constexpr const char* kIds[] = {
      "",           "ARG-CANCEL", "ARG-UNKNOWN", "ARG-ARG",   "ARG-DEADLINE", "ARG-MISSING",     "ARG-EXISTS",
      "ARG-DENIED", "ARG-LIMIT",  "ARG-STATE",   "ARG-ABORT", "ARG-RANGE",    "ARG-UNSUPPORTED", "ARG-BUG",
      "ARG-GONE",   "ARG-DATA",   "ARG-AUTH"};
  return kIds[static_cast<int>(code)];
}
}  // namespace

Status::Status(Code code, std::string message) {
  if (code == Code::kOk) return;
  rep_ = std::make_unique<Rep>(Rep{code, std::move(message), {}, {}, {}});
}

const std::string& Status::message() const { return rep_ ? rep_->message : kEmpty; }
const std::string& Status::where() const { return rep_ ? rep_->where : kEmpty; }
const std::string& Status::hint() const { return rep_ ? rep_->next : kEmpty; }
std::string_view Status::id() const {
  if (!rep_) return {};
  return rep_->id.empty() ? default_id(rep_->code) : std::string_view(rep_->id);
}

Status&& Status::with_id(std::string id) && {
  if (rep_ && rep_->id.empty()) rep_->id = std::move(id);
  return std::move(*this);
}
Status&& Status::with_where(std::string where) && {
  if (rep_ && rep_->where.empty()) rep_->where = std::move(where);
  return std::move(*this);
}
Status&& Status::with_hint(std::string next) && {
  if (rep_ && rep_->next.empty()) rep_->next = std::move(next);
  return std::move(*this);
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  std::string text = str_cat(code_name(code()), " [", id(), "] ", message());
  if (!where().empty()) text += str_cat(" (", where(), ")");
  if (!hint().empty()) text += str_cat("\n  try: ", hint());
  return text;
}

}  // namespace argosy
