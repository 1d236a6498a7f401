// Kernels: CSR matrices from dense and sparse tensors, and back.
#include <algorithm>
#include <cstring>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/csr/csr_matrix.h"

namespace argosy {

void add_csr_products(KernelRegistry& kernels);     // products_cpu.cc
void add_csr_arithmetic(KernelRegistry& kernels);   // csr_arithmetic_cpu.cc
void add_sparse_cholesky(KernelRegistry& kernels);  // sparse_cholesky_cpu.cc

namespace {

using csr::Matrix;
using csr::Place;
using csr::Sizes;

// Converts rows of indices [n, rank] to places, in their order.
std::vector<Place> places_of(const Tensor& indices) {
  const std::int64_t n = indices.shape()[0], rank = indices.shape()[1];
  std::vector<Place> places(static_cast<std::size_t>(n));
  const auto* at = indices.data<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i, at += rank) {
    places[i] = {rank == 3 ? static_cast<std::int32_t>(at[0]) : 0, static_cast<std::int32_t>(at[rank - 2]),
                 static_cast<std::int32_t>(at[rank - 1])};
  }
  return places;
}

// Outputs a matrix with value order[i] of `from` at places[order[i]].
Status give_values(KernelContext& c, DType dtype, const Sizes& sizes, const std::vector<Place>& places,
                   const std::vector<std::int64_t>& order, const Tensor& from, const std::vector<std::int64_t>& at) {
  std::vector<Place> ordered;
  ordered.reserve(places.size());
  for (const std::int64_t i : order) ordered.push_back(places[static_cast<std::size_t>(i)]);
  ARGOSY_ASSIGN_OR_RETURN(auto m, Matrix::make(csr::matrix_memory(c), dtype, sizes, ordered));
  ARGOSY_RETURN_IF_ERROR(dispatch<csr::ValueTypes>(dtype, c.node(), [&]<typename T>() {
    T* to = m->values().data<T>();
    for (const std::int64_t i : order) *to++ = from.data<T>()[at.empty() ? i : at[static_cast<std::size_t>(i)]];
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(m));
}

// Returns the order of places by batch and row. Equal ones keep their order.
std::vector<std::int64_t> order_of(const std::vector<Place>& places) {
  std::vector<std::int64_t> order(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return places[static_cast<std::size_t>(a)].before(places[static_cast<std::size_t>(b)]);
  });
  return order;
}

Status out_of_bounds(std::int64_t row, std::span<const std::int64_t> at, const Shape& shape) {
  return invalid_argument("Sparse index tuple indices[", row, ", :] = [", str_join(at, ", "), "] is out of bounds of ",
                          shape);
}

Status from_sparse(KernelContext& c) {
  const Tensor &indices = c.input(0), &values = c.input(1), &sizes_in = c.input(2);
  if (indices.shape().rank() != 2)
    return invalid_argument("Input indices must be a matrix, not of shape ", indices.shape());
  if (values.shape().rank() != 1)
    return invalid_argument("Input values must be a vector, not of shape ", values.shape());
  if (sizes_in.shape().rank() != 1)
    return invalid_argument("Input dense_shape must be a vector, not of shape ", sizes_in.shape());
  const std::int64_t n = indices.shape()[0], rank = indices.shape()[1];
  if (values.elements() != n)
    return invalid_argument("Number of elements in indices (", n, ") and values (", values.elements(),
                            ") do not match");
  if (sizes_in.elements() != rank) {
    return invalid_argument("Index rank (", rank, ") and shape rank (", sizes_in.elements(), ") do not match");
  }
  if (rank != 2 && rank != 3)
    return invalid_argument("SparseTensor must have rank 2 or 3; but indices has rank: ", rank);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(sizes_in, "dense_shape"));
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, csr::sizes_of(shape));
  const auto all = indices.values<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = all.subspan(static_cast<std::size_t>(i * rank), static_cast<std::size_t>(rank));
    for (int k = 0; k < rank; ++k) {
      if (at[static_cast<std::size_t>(k)] < 0 || at[static_cast<std::size_t>(k)] >= shape[k])
        return out_of_bounds(i, at, shape);
    }
  }
  const std::vector<Place> places = places_of(indices);
  return give_values(c, values.dtype(), sizes, places, order_of(places), values, {});
}

Status from_dense(KernelContext& c) {
  const Tensor &dense = c.input(0), &indices = c.input(1);
  const int rank = dense.shape().rank();
  if (rank != 2 && rank != 3)
    return invalid_argument("params must have rank == 2 or 3; but saw shape: ", dense.shape());
  if (indices.shape().rank() != 2)
    return invalid_argument("indices must be a matrix, but saw shape: ", indices.shape());
  if (indices.shape()[1] != rank) {
    return invalid_argument("indices.shape[1] must be equal to the rank of params, but saw: ", indices.shape()[1],
                            " vs. ", rank);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, csr::sizes_of(dense.shape()));
  const std::int64_t n = indices.shape()[0];
  std::vector<std::int64_t> flat;
  flat.reserve(static_cast<std::size_t>(n));
  const auto all = indices.values<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = all.subspan(static_cast<std::size_t>(i * rank), static_cast<std::size_t>(rank));
    std::int64_t where = 0;
    for (int k = 0; k < rank; ++k) {
      const std::int64_t index = at[static_cast<std::size_t>(k)];
      if (index < 0 || index >= dense.shape()[k]) {
        return invalid_argument("indices[", i, "] = [", str_join(at, ", "), "] does not index into param shape ",
                                dense.shape(), ", node name: ", c.node());
      }
      where = where * dense.shape()[k] + index;
    }
    flat.push_back(where);
  }
  const std::vector<Place> places = places_of(indices);
  return give_values(c, dense.dtype(), sizes, places, order_of(places), dense, flat);
}

Status to_dense(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const csr::MatrixPtr m, csr::input_matrix(c, 0));
  if (m->dtype() != c.output_dtype(0)) {
    return invalid_argument("Asked for a CSRSparseMatrix of type ", dtype_name(c.output_dtype(0)),
                            " but saw dtype: ", dtype_name(m->dtype()));
  }
  const Sizes& s = m->sizes();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, s.shape()));
  return dispatch<csr::ValueTypes>(m->dtype(), c.node(), [&]<typename T>() {
    T* const to = y->data<T>();
    std::fill_n(to, y->elements(), T(0));
    const T* const x = m->values().data<T>();
    for (std::int64_t b = 0; b < s.batches; ++b) {
      for (std::int64_t r = 0; r < s.rows; ++r) {
        for (std::int64_t i = m->begin(b, r); i < m->end(b, r); ++i)
          to[(b * s.rows + r) * s.columns + m->column(i)] = x[i];
      }
    }
    return ok_status();
  });
}

Status to_sparse(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const csr::MatrixPtr m, csr::input_matrix(c, 0));
  if (m->dtype() != c.output_dtype(1)) {
    return invalid_argument("Expected a CSRSparseMatrix of type ", dtype_name(c.output_dtype(1)),
                            " but saw type: ", dtype_name(m->dtype()));
  }
  const Shape shape = m->sizes().shape();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, Shape({m->count(), shape.rank()})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, Shape({m->count()})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const sizes, c.output(2, Shape({shape.rank()})));
  auto* at = indices->data<std::int64_t>();
  for (const Place& p : m->places()) {
    if (m->sizes().batched) *at++ = p.batch;
    *at++ = p.row;
    *at++ = p.column;
  }
  copy_elements(*values, m->values());
  std::copy(shape.sizes().begin(), shape.sizes().end(), sizes->data<std::int64_t>());
  return ok_status();
}

Status components(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const csr::MatrixPtr m, csr::input_matrix(c, 0));
  const Tensor& index = c.input(1);
  if (index.shape().rank() != 0)
    return invalid_argument("index should be a scalar, but saw: int32 of shape ", index.shape());
  if (m->dtype() != c.output_dtype(2)) {
    return invalid_argument("dtype of input is not equal to 'type': ", dtype_name(m->dtype()), " vs. ",
                            dtype_name(c.output_dtype(2)));
  }
  const std::int64_t b = *index.data<std::int32_t>();
  if (b < 0 || b >= m->sizes().batches) return invalid_argument("index (", b, ") not in [0, ", m->sizes().batches, ")");
  const std::int64_t first = m->first_of(b), count = m->first_of(b + 1) - first;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const pointers, c.output(0, Shape({m->sizes().rows + 1})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const columns, c.output(1, Shape({count})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(2, Shape({count})));
  const auto from = m->row_pointers(b);
  std::copy(from.begin(), from.end(), pointers->data<std::int32_t>());
  std::copy_n(m->columns().begin() + first, count, columns->data<std::int32_t>());
  if (count > 0) copy_elements(*values, m->values().rows(first, first + count));
  return ok_status();
}

Status count_values(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const csr::MatrixPtr m, csr::input_matrix(c, 0));
  const Sizes& s = m->sizes();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, s.batched ? Shape({s.batches}) : Shape()));
  for (std::int64_t b = 0; b < s.batches; ++b)
    y->data<std::int32_t>()[b] = static_cast<std::int32_t>(m->first_of(b + 1) - m->first_of(b));
  return ok_status();
}

Status zeros(KernelContext& c, const AttrMap& attrs) {
  const Tensor& sizes_in = c.input(0);
  if (sizes_in.shape().rank() != 1)
    return invalid_argument("dense_shape must be a vector, not of shape ", sizes_in.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(sizes_in, "dense_shape"));
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, csr::sizes_of(shape));
  ARGOSY_ASSIGN_OR_RETURN(auto m, Matrix::make(csr::matrix_memory(c), attrs.get_type("type"), sizes, {}));
  return csr::give_matrix(c, 0, std::move(m));
}

}  // namespace

void add_kernels_cpu_csr(KernelRegistry& kernels) {
  kernels.add("SparseTensorToCSRSparseMatrix", "cpu", from_sparse);
  kernels.add("DenseToCSRSparseMatrix", "cpu", from_dense);
  kernels.add("CSRSparseMatrixToDense", "cpu", to_dense);
  kernels.add("CSRSparseMatrixToSparseTensor", "cpu", to_sparse);
  kernels.add("CSRSparseMatrixComponents", "cpu", components);
  kernels.add("SparseMatrixNNZ", "cpu", count_values);
  kernels.add("SparseMatrixZeros", "cpu", AttrKernel<zeros>::make);
  add_csr_products(kernels);
  add_csr_arithmetic(kernels);
  add_sparse_cholesky(kernels);
}

}  // namespace argosy
