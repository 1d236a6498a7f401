// Arithmetic on quantised tensors (qint8, quint8, qint16, quint16, qint32): integers that stand for numbers between a
// least and a greatest, which travel beside them. Names, modes and roundings are TensorFlow's; its graphs bring the ops
// along. From C++:
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

struct Quantized {
  Value values;           // integers
  Value least, greatest;  // what the lowest and the highest integer stand for
};

// `mode`: MIN_COMBINED, MIN_FIRST or SCALED.
Quantized quantize(Value x, Value least, Value greatest, DType dtype, const std::string& mode = "MIN_COMBINED");
// Floats again; mode: how ranges become steps.
Value dequantize(const Quantized& x, const std::string& mode = "MIN_COMBINED");

}  // namespace argosy
