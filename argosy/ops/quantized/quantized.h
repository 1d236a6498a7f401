// Quantised tensors (qint8, quint8, qint16, quint16, qint32): integers that stand for the numbers of a range, whose
// ends are two more tensors. Names, modes and roundings are TensorFlow's. Only conversions have builders, below; the
// ops of arithmetic come from imported graphs.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

struct Quantized {
  Value values;           // integers
  Value least, greatest;  // the range: the numbers for the lowest and the highest integer
};

// `mode`: MIN_COMBINED, MIN_FIRST or SCALED.
Quantized quantize(Value x, Value least, Value greatest, DType dtype, const std::string& mode = "MIN_COMBINED");
// Converts back to floats. `mode`: as above.
Value dequantize(const Quantized& x, const std::string& mode = "MIN_COMBINED");

}  // namespace argosy
