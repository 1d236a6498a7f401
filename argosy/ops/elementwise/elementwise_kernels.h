// Elementwise kernels out of spans: a span computes n neighbouring elements of one dtype, a kernel walks tensors,
// broadcasting and cores with it. A family of elementwise ops is a table of rows, one per op and dtype.
//
//   span<const UnaryRow> rows = HWY_DYNAMIC_DISPATCH(my_rows)();                                  // my_cpu.cc
//   Result<std::unique_ptr<Kernel>> make(const KernelInit& init) { return make_unary(init, rows); }
//
// Spans may be called from many threads; the result may lie on an operand of the same element size, element on element.
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
  BinarySpan both = nullptr;       // both operands step
  BinarySpan left_one = nullptr;   // the left operand is one element
  BinarySpan right_one = nullptr;  // the right operand is one element
};

// About how much work an element is: what a thread must get at least.
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
  // What some values forbid (a zero divisor); null: nothing.
  Status (*check)(const Tensor& x, const Tensor& y) = nullptr;
};

// Kernels for the node's op and input dtype; decline when the table has no such row. A bfloat16 or float16 node takes
// the float32 row, through small blocks of float32, if it has none of its own: the result is rounded once. `function`:
// the row's name, where it is not the op's.
Result<std::unique_ptr<Kernel>> make_unary(const KernelInit& init, std::span<const UnaryRow> rows,
                                           std::string_view function = "");
// Broadcasts. Equal and NotEqual with incompatible_shape_error = false are heeded.
Result<std::unique_ptr<Kernel>> make_binary(const KernelInit& init, std::span<const BinaryRow> rows,
                                            std::string_view function = "");

// Least number of elements worth a thread.
std::int64_t grain_of(Work work);

// The rows of this folder, for fused kernels: null, or spans without `both`, when there is none.
UnarySpan find_unary_span(std::string_view op, DType dtype);
BinarySpans find_binary_spans(std::string_view op, DType dtype);

// 16-bit floats to float32 and back (round to nearest even), vectorised.
void widen(DType from, const void* x, float* y, std::int64_t n);
void narrow(DType to, const float* x, void* y, std::int64_t n);

}  // namespace argosy
