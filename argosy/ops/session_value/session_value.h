// Values that a session keeps between its steps, by handle: tf.get_session_handle() and its kin.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value session_handle(Value value);               // keeps the value in the session; returns its handle, a string
Value session_value(Value handle, DType dtype);  // the value that the session keeps under this handle
Value delete_session_value(Value handle);        // drops it; returns a control value

}  // namespace argosy
