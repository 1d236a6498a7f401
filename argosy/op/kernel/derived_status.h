// Derived errors: the error of a task of a step that another task's error ended. If a step has several errors, a
// derived one is reported only if all are derived. The mark is a prefix of the message, as in TensorFlow, so RPCs carry
// it.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// Returns `cause` with the mark. REQUIRES: an error. A marked one is returned unchanged.
Status derived_status(const Status& cause);
bool is_derived(const Status& status);
// Returns the status without the mark, for people.
Status without_derived_mark(const Status& status);

}  // namespace argosy
