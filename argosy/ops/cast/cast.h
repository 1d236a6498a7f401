// One dtype to another; the parts of complex numbers.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Each element in another dtype, by C's rules and TensorFlow's where C has none. A value that has the dtype stays as it
// is.
Value cast(Value x, DType dtype);
// The bytes as another dtype; sizes differ by a trailing axis.
Value bitcast(Value x, DType dtype);

Value complex(Value real, Value imag);
Value real(Value x);
Value imag(Value x);
Value conj(Value x);  // of a real value: itself
Value angle(Value x);

}  // namespace argosy
