// An Einsum as products of matrices. Each operand is brought into the order batch, rows, columns: its diagonals are
// read, axes of its own are summed. Matrices are multiplied batch by batch; the product is put into the output's order.
// The plan says where elements go; kernels move and multiply. Private to this folder.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "argosy/tensor/shape.h"

namespace argosy::einsum_parts {

// An axis of a loop over an operand: how far apart its elements are.
struct Axis {
  int label = 0;
  std::int64_t size = 1;
  std::int64_t stride = 0;
};
using Axes = std::vector<Axis>;

std::int64_t product(const Axes& axes);
// Do elements walked in the order of the axes lie side by side?
bool row_major(const Axes& axes);

struct Plan {
  Shape output;
  int operands = 2;
  // Of each operand: how it is walked for its matrices, batch by batch; and what each element of them is summed over.
  Axes order[2], own[2];
  bool transposed = false;  // the second operand's matrices are n x k
  std::int64_t m = 1, n = 1, k = 1;
  // Of the products, in row-major order of the batch: where operands' matrices begin, in elements. (One operand: none.)
  std::vector<std::int64_t> first, second;
  // The product's axes with their strides in the output; a letter named twice there runs along the diagonal.
  Axes target;

  bool in_order() const { return row_major(target); }
  bool fills_output() const { return product(target) == output.elements(); }
};

// INVALID_ARGUMENT as parse() and label_axes(), or where sizes differ.
Result<Plan> plan(std::string_view equation, std::span<const Shape* const> operands);

}  // namespace argosy::einsum_parts
