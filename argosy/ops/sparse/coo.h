// Sparse tensors in coordinate (COO) form: indices int64[n, rank], values [n], shape int64[rank]. Functions that
// kernels of sparse ops share. Internal to argosy/ops.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy::sparse {

// A view of such a sparse tensor; it does not own the indices. Every index is within the shape.
struct Coo {
  std::int64_t count = 0;
  int rank = 0;
  const std::int64_t* indices = nullptr;
  Tensor values;
  Shape shape;

  const std::int64_t* at(std::int64_t i) const { return indices + i * rank; }
  std::span<const std::int64_t> index(std::int64_t i) const { return {at(i), static_cast<std::size_t>(rank)}; }
};

inline bool before(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

// The three tensors as a Coo. INVALID_ARGUMENT: their shapes do not fit, or an index is out of bounds.
inline Result<Coo> read_coo(const Tensor& indices, const Tensor& values, const Tensor& shape, std::string_view op) {
  if (indices.shape().rank() != 2)
    return invalid_argument(op, ": indices must be a matrix, not of shape ", indices.shape());
  if (values.shape().rank() != 1 || values.elements() != indices.shape()[0]) {
    return invalid_argument(op, ": ", indices.shape()[0], " indices for values of shape ", values.shape());
  }
  if (shape.shape().rank() != 1 || shape.elements() != indices.shape()[1]) {
    return invalid_argument(op, ": indices of ", indices.shape()[1], " columns for a shape of ", shape.shape());
  }
  Coo c{values.elements(), static_cast<int>(shape.elements()), indices.data<std::int64_t>(), values, {}};
  ARGOSY_ASSIGN_OR_RETURN(c.shape, to_shape(shape, op));
  for (std::int64_t i = 0; i < c.count; ++i) {
    for (int k = 0; k < c.rank; ++k) {
      if (c.at(i)[k] < 0 || c.at(i)[k] >= c.shape[k]) {
        return invalid_argument(op, ": indices[", i, "] = [", str_join(c.index(i), ","),
                                "] is out of bounds: need 0 <= index < ", c.shape);
      }
    }
  }
  return c;
}

// The permutation that sorts the entries by index. It is stable.
inline std::vector<std::int64_t> sorted(const Coo& c) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(c.count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto less = [&](std::int64_t a, std::int64_t b) { return before(c.index(a), c.index(b)); };
  if (!std::is_sorted(order.begin(), order.end(), less)) std::stable_sort(order.begin(), order.end(), less);
  return order;
}

// Copies element j of `from` to element i of `to`, for any dtype. REQUIRES: equal dtypes.
inline void copy_element(const Tensor& to, std::int64_t i, const Tensor& from, std::int64_t j) {
  switch (to.dtype()) {
    case DType::kString: to.data<std::string>()[i] = from.data<std::string>()[j]; return;
    case DType::kVariant: to.data<Variant>()[i] = from.data<Variant>()[j]; return;
    case DType::kResource: to.data<ResourceHandle>()[i] = from.data<ResourceHandle>()[j]; return;
    default: break;
  }
  const std::size_t size = element_bytes(to.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + static_cast<std::size_t>(i) * size,
              static_cast<const char*>(from.raw()) + static_cast<std::size_t>(j) * size, size);
}

// Writes these numbers as output i.
inline Status put_ints(KernelContext& c, int i, std::span<const std::int64_t> values, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, shape));
  std::copy(values.begin(), values.end(), y->data<std::int64_t>());
  return ok_status();
}
inline Status put_shape(KernelContext& c, int i, const Shape& shape) {
  return put_ints(c, i, shape.sizes(), {shape.rank()});
}

// The offset of an index in a dense tensor with these strides.
inline std::int64_t place(std::span<const std::int64_t> index, const Ints& strides) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * strides[static_cast<int>(k)];
  return at;
}

}  // namespace argosy::sparse
