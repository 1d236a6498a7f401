// Tables of this folder's spans (../elementwise_kernels.h), for the best instruction set of this CPU. Private to this
// folder.
#pragma once

#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy::elementwise {

std::span<const UnaryRow> math_rows();            // exp, log, tanh …: vector functions, float32 and float64
std::span<const UnaryRow> simple_unary_rows();    // neg, sqrt, floor …: loops
std::span<const BinaryRow> simple_binary_rows();  // add, mul, less …: loops
std::span<const UnaryRow> reference_unary_rows();
std::span<const BinaryRow> reference_binary_rows();

// Returns the name of the function that an op computes, which is the name of its rows: Add for AddV2.
std::string_view function_of(std::string_view op);

}  // namespace argosy::elementwise
