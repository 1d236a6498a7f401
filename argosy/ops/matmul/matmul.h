// Products of matrices, and of batches of matrices.
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of matmul().
struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two axes exchanged
};

// a · b. Matrices give a MatMul node; a rank above 2 gives BatchMatMulV2, whose leading axes broadcast.
Value matmul(Value a, Value b, MatMulOptions options = {}, std::string_view name = "MatMul");

// x · w + bias: a dense layer.
Value matmul_bias(Value x, Value w, Value bias, std::string_view name = "dense");

}  // namespace argosy
