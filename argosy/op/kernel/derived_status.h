// Derived errors: what a task of a step says when another task's error ended it. Of several errors of one step a derived
// one is told only where there is no other. The mark is a prefix of the message, as in TensorFlow: so it crosses wires.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// `cause`, marked. REQUIRES: an error. One that is marked already stays as it is.
Status derived_status(const Status& cause);
bool is_derived(const Status& status);
// Without the mark: what people read.
Status without_derived_mark(const Status& status);

}  // namespace argosy
