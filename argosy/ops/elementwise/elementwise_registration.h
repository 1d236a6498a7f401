// Registration functions of the elementwise family, by kind of op, and its type sets. Private to this folder.
#pragma once

#include "argosy/op/definition/registry.h"

namespace argosy::elementwise {

void define_unary(OpRegistry& ops);
void define_binary(OpRegistry& ops);
void define_comparison(OpRegistry& ops);
void define_sums_and_checks(OpRegistry& ops);
void define_fused(OpRegistry& ops);

// Attributes of TensorFlow's sets of types.
inline constexpr char kFloats[] = "T: {bfloat16, half, float, double}";
inline constexpr char kFloatsAndComplex[] = "T: {bfloat16, half, float, double, complex64, complex128}";
inline constexpr char kSigned[] = "T: {bfloat16, half, float, double, int8, int16, int32, int64}";
inline constexpr char kSignedAndComplex[] =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";

Cost function_cost(const ShapeContext& c);  // of exp, tanh …: about twenty operations an element

}  // namespace argosy::elementwise
