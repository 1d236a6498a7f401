// Checks of the inputs of SparseTensorDenseMatMul, for every kind of device. Private to this folder.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy::sparse {

// The sizes of op(a) [m, k] times op(b) [k, n], where op is the adjoint or the identity.
struct SparseProductSizes {
  std::int64_t m = 0, k = 0, n = 0;
  Shape a;  // before its adjoint is taken
  bool adjoint_a = false, adjoint_b = false;
};

// Inputs: a's indices, values and shape (in host memory), and b. INVALID_ARGUMENT: their shapes do not fit. The indices
// themselves are not checked: they may be in a GPU's memory.
inline Result<SparseProductSizes> check_sparse_product(const KernelContext& c, const AttrMap& attrs) {
  const Shape &indices = c.input(0).shape(), &values = c.input(1).shape(), &b = c.input(3).shape();
  if (indices.rank() != 2 || indices[1] != 2 || values != Shape{indices[0]} || c.input(2).shape() != Shape{2}) {
    return invalid_argument("SparseTensorDenseMatMul: a of indices ", indices, ", values ", values, " and shape ",
                            c.input(2).shape(), " is no matrix");
  }
  if (b.rank() != 2) return invalid_argument("Tensor 'b' is not a matrix but of shape ", b);
  SparseProductSizes s{.adjoint_a = attrs.get_bool("adjoint_a"), .adjoint_b = attrs.get_bool("adjoint_b")};
  ARGOSY_ASSIGN_OR_RETURN(s.a, to_shape(c.input(2), "SparseTensorDenseMatMul: a_shape"));
  s.m = s.a[s.adjoint_a ? 1 : 0];
  s.k = s.a[s.adjoint_a ? 0 : 1];
  s.n = b[s.adjoint_b ? 0 : 1];
  const std::int64_t inner = b[s.adjoint_b ? 1 : 0];
  if (inner == s.k) return s;
  return invalid_argument("Cannot multiply A and B because inner dimension does not match: ", s.k, " vs. ", inner,
                          ".  Did you forget a transpose?");
}

}  // namespace argosy::sparse
