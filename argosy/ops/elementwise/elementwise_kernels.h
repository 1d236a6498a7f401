// Elementwise kernels made from spans. A span is a function that computes n contiguous elements of one dtype. A kernel
// calls it for all elements, with broadcasting, on several threads. A family of elementwise ops is a table of rows, one
// per op and dtype.
//
//   span<const UnaryRow> rows = HWY_DYNAMIC_DISPATCH(my_rows)();                                  // my_cpu.cc
//   Result<std::unique_ptr<Kernel>> make(const KernelInit& init) { return make_unary(init, rows); }
//
// Spans may be called from many threads. The result may be in place of an operand with elements of the same size.
#pragma once

#include <span>
#include <string_view>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// y[i] = f(x[i])
using UnarySpan = void (*)(const void* x, void* y, std::int64_t n);
// z[i] = f(x[i], y[i])
using BinarySpan = void (*)(const void* x, const void* y, void* z, std::int64_t n);

struct BinarySpans {
  BinarySpan both = nullptr;       // both operands are arrays
  BinarySpan left_one = nullptr;   // the left operand is one element
  BinarySpan right_one = nullptr;  // the right operand is one element
};

// The work per element, which decides the least number of elements per thread.
enum class Work { kMove, kArithmetic, kFunction };

struct UnaryRow {
  std::string_view op;  // or the function's name, where several ops share it
  DType dtype;          // of the input
  UnarySpan span;
  Work work = Work::kArithmetic;
};
struct BinaryRow {
  std::string_view op;
  DType dtype;  // of the inputs
  BinarySpans spans;
  Work work = Work::kArithmetic;
  // Returns an error for values that the op forbids (a zero divisor); null: it allows all values.
  Status (*check)(const Tensor& x, const Tensor& y) = nullptr;
};

// Makes the kernel for the node's op and input dtype; declines if the table has no such row. A bfloat16 or float16 node
// without a row of its own uses the float32 row, by small blocks of float32: the result is rounded once. `function`:
// the row's name, if it is not the op's.
Result<std::unique_ptr<Kernel>> make_unary(const KernelInit& init, std::span<const UnaryRow> rows,
                                           std::string_view function = "");
// The same for two operands, which broadcast. Equal and NotEqual support incompatible_shape_error = false.
Result<std::unique_ptr<Kernel>> make_binary(const KernelInit& init, std::span<const BinaryRow> rows,
                                            std::string_view function = "");

// The least number of elements per thread.
std::int64_t grain_of(Work work);

// Finds the spans of this folder's tables, for fused kernels. If there is no row: null, or spans without `both`.
UnarySpan find_unary_span(std::string_view op, DType dtype);
BinarySpans find_binary_spans(std::string_view op, DType dtype);

// Converts 16-bit floats to float32 and back (round to nearest even), vectorised.
void widen(DType from, const void* x, float* y, std::int64_t n);
void narrow(DType to, const float* x, void* y, std::int64_t n);

}  // namespace argosy
