// The plan of an Einsum as matrix products. Each operand is brought into the order batch, rows, columns: its diagonals
// are read, and axes that no other operand or output has are summed. Matrices are multiplied for each element of the
// batch; the product is brought into the output's order. The plan holds sizes and strides; kernels move and multiply.
// Private to this folder.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "argosy/tensor/shape.h"

namespace argosy::einsum_parts {

// An axis of a loop over an operand; strides are in elements.
struct Axis {
  int label = 0;
  std::int64_t size = 1;
  std::int64_t stride = 0;
};
using Axes = std::vector<Axis>;

std::int64_t product(const Axes& axes);
// True if the elements are contiguous in the order of the axes.
bool row_major(const Axes& axes);

struct Plan {
  Shape output;
  int operands = 2;
  // order: the axes of each operand in the order of its matrices, batch first. own: the axes of an operand alone, over
  // which each element is summed.
  Axes order[2], own[2];
  bool transposed = false;  // the second operand's matrices are n x k
  std::int64_t m = 1, n = 1, k = 1;
  // For each product, in row-major order of the batch: the start of each operand's matrix, in elements. Empty if there
  // is one operand.
  std::vector<std::int64_t> first, second;
  // The product's axes, with their strides in the output. A letter that the output names twice runs along its diagonal.
  Axes target;

  bool in_order() const { return row_major(target); }
  bool fills_output() const { return product(target) == output.elements(); }
};

// Errors are those of parse() and label_axes(); INVALID_ARGUMENT if sizes differ.
Result<Plan> plan(std::string_view equation, std::span<const Shape* const> operands);

}  // namespace argosy::einsum_parts
