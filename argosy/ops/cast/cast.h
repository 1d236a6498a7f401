// One dtype to another; the parts of complex numbers.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Each element in another dtype, by C's rules and TensorFlow's where C has none. A value that has the dtype stays as it
// is.
Value cast(Value x, DType dtype);
// Reinterprets the bytes of x as another dtype. If element sizes differ, a trailing axis is added or removed.
Value bitcast(Value x, DType dtype);

Value complex(Value real, Value imag);  // complex numbers of these parts; complex64 of float, complex128 of double
Value real(Value x);                    // of a real value: itself
Value imag(Value x);                    // of a real value: zeros
Value conj(Value x);                    // of a real value: itself
Value angle(Value x);                   // the argument of a complex number, in radians

}  // namespace argosy
