// Products of matrices, and of stacks of matrices.
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// Of products of matrices.
struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two axes exchanged
};

// a · b. Matrices give MatMul; stacks of matrices (rank above 2) BatchMatMulV2, whose leading axes broadcast.
Value matmul(Value a, Value b, MatMulOptions options = {}, std::string_view name = "MatMul");

// x · w + bias, as users of dense layers write it.
Value matmul_bias(Value x, Value w, Value bias, std::string_view name = "dense");

}  // namespace argosy
