// Checks of the inputs of softmax, its gradient and the cross-entropies, for every kind of device. Private to this
// folder.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy::softmax_inputs {

// Input 0 as rows of n numbers along its last axis. INVALID_ARGUMENT where it has no axis, or another input has another
// shape.
struct Rows {
  std::int64_t rows = 0, n = 0;
};
inline Result<Rows> check_rows(const KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  if (shape.rank() == 0) return invalid_argument("Softmax: logits must have an axis").with_id("ARG-SHAPE-004");
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).shape() == shape) continue;
    return invalid_argument("Softmax: its gradient has shape ", c.input(i).shape(), ", what it gave ", shape)
        .with_id("ARG-SHAPE-013");
  }
  const std::int64_t n = shape.back();
  return Rows{n == 0 ? 0 : shape.elements() / n, n};
}

// Logits (input 0) and labels (input 1) are matrices that broadcast to [rows, n]. `Steps` are strides in elements, 0
// along an axis that is broadcast.
struct DenseCrossEntropy {
  struct Steps {
    std::int64_t row = 0, column = 0;
  };
  Shape shape;  // of both, broadcast
  Steps logits, labels;
};
inline Result<DenseCrossEntropy> check_cross_entropy(const KernelContext& c) {
  const Shape &x = c.input(0).shape(), &labels = c.input(1).shape();
  if (x.rank() != 2 || labels.rank() != 2) {
    return invalid_argument("SoftmaxCrossEntropyWithLogits: logits and labels must be matrices, not of shapes ", x,
                            " and ", labels)
        .with_id("ARG-SHAPE-004");
  }
  const auto steps = [](const Shape& s) -> DenseCrossEntropy::Steps {
    return {s[0] == 1 ? 0 : s[1], s[1] == 1 ? 0 : 1};
  };
  ARGOSY_ASSIGN_OR_RETURN(Shape shape, broadcast(x, labels));
  return DenseCrossEntropy{std::move(shape), steps(x), steps(labels)};
}

// Logits (input 0) are a matrix [rows, n], labels (input 1) a vector of classes [rows]; n is not 0. The labels
// themselves are not looked at.
inline Result<Rows> check_sparse_cross_entropy(const KernelContext& c) {
  const Shape &x = c.input(0).shape(), &labels = c.input(1).shape();
  if (x.rank() != 2 || labels.rank() != 1 || labels[0] != x[0]) {
    return invalid_argument(
               "SparseSoftmaxCrossEntropyWithLogits: logits must be a matrix and labels a vector with one ",
               "number a row, not of shapes ", x, " and ", labels)
        .with_id("ARG-SHAPE-015");
  }
  if (x[1] == 0) return invalid_argument("SparseSoftmaxCrossEntropyWithLogits: there must be at least one class");
  return Rows{x[0], x[1]};
}

}  // namespace argosy::softmax_inputs
