#include "argosy/op/kernel/derived_status.h"

namespace argosy {

namespace {

constexpr std::string_view kMark = "[_Derived_]";

Status with_message(const Status& status, std::string message) {
  return Status(status.code(), std::move(message))
      .with_id(std::string(status.id()))
      .with_where(status.where())
      .with_hint(status.hint());
}

}  // namespace

bool is_derived(const Status& status) { return !status.ok() && status.message().starts_with(kMark); }

Status derived_status(const Status& cause) {
  return is_derived(cause) ? cause : with_message(cause, str_cat(kMark, cause.message()));
}

Status without_derived_mark(const Status& status) {
  return is_derived(status) ? with_message(status, status.message().substr(kMark.size())) : status;
}

}  // namespace argosy
