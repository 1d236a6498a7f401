// Kernels: CSR matrices element by element and row by row.
#include <algorithm>
#include <cmath>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/csr/csr_matrix.h"

namespace argosy {

namespace {

using csr::Matrix;
using csr::MatrixPtr;
using csr::Place;
using csr::Sizes;

Status wrong_type(DType got, DType wanted) {
  return invalid_argument("dtype of input is not equal to 'type': ", dtype_name(got), " vs. ", dtype_name(wanted));
}

Status transpose(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr m, csr::input_matrix(c, 0));
  if (m->dtype() != attrs.get_type("type")) return wrong_type(m->dtype(), attrs.get_type("type"));
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr y, csr::transposed(*m, attrs.get_bool("conjugate"), csr::matrix_memory(c)));
  return csr::give_matrix(c, 0, std::move(y));
}

// TensorFlow's Python conjugates matrices, real ones too, in gradients of products.
Status conjugated(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr m, csr::input_matrix(c, 0));
  if (!is_complex(m->dtype())) return csr::give_matrix(c, 0, std::move(m));
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), m->dtype(), m->sizes(), m->places()));
  ARGOSY_RETURN_IF_ERROR(dispatch<csr::ValueTypes>(m->dtype(), c.node(), [&]<typename T>() {
    const T* const x = m->values().data<T>();
    std::transform(x, x + m->count(), y->values().data<T>(), csr::conjugate<T>);
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(y));
}

Status add(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr a, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr b, csr::input_matrix(c, 1));
  const Tensor &alpha = c.input(2), &beta = c.input(3);
  for (int i = 2; i < 4; ++i) {
    if (c.input(i).shape().rank() != 0)
      return invalid_argument("alpha and beta must be scalars, not of shape ", c.input(i).shape());
  }
  for (const MatrixPtr& m : {a, b}) {
    if (m->dtype() != alpha.dtype()) return wrong_type(m->dtype(), alpha.dtype());
  }
  if (a->sizes() != b->sizes()) {
    return invalid_argument("a and b must have equal shapes, not ", a->sizes().shape(), " and ", b->sizes().shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr y, csr::sum(*a, *b, alpha, beta, csr::matrix_memory(c)));
  return csr::give_matrix(c, 0, std::move(y));
}

// Multiplies by one number, or by one for each batch.
Status multiply(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr a, csr::input_matrix(c, 0));
  const Tensor& b = c.input(1);
  if (a->dtype() != b.dtype()) {
    return invalid_argument("Input types don't match.  a.dtype == ", dtype_name(a->dtype()),
                            " vs. b.dtype == ", dtype_name(b.dtype()));
  }
  const Sizes& s = a->sizes();
  const bool each = s.batched && b.shape() == Shape({s.batches, 1, 1});
  if (b.shape().rank() != 0 && !each) {
    return invalid_argument("b must be a scalar, or of shape [batches,1,1] for a batch of matrices, not ", b.shape(),
                            " for a of ", s.shape());
  }
  const std::vector<Place> places = a->places();
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), a->dtype(), s, places));
  ARGOSY_RETURN_IF_ERROR(dispatch<csr::ValueTypes>(b.dtype(), c.node(), [&]<typename T>() {
    for (std::int64_t i = 0; i < y->count(); ++i) {
      const std::int64_t batch = each ? places[static_cast<std::size_t>(i)].batch : 0;
      y->values().data<T>()[i] = a->values().data<T>()[i] * b.data<T>()[batch];
    }
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(y));
}

// For each row of `m`, f(first value, number of values).
template <typename F>
void each_row(const Matrix& m, F f) {
  for (std::int64_t b = 0; b < m.sizes().batches; ++b) {
    for (std::int64_t r = 0; r < m.sizes().rows; ++r) f(b, r, m.begin(b, r), m.end(b, r));
  }
}

using RealTypes2 = TypeList<float, double>;

Status softmax(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr m, csr::input_matrix(c, 0));
  if (m->dtype() != attrs.get_type("type")) return wrong_type(m->dtype(), attrs.get_type("type"));
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), m->dtype(), m->sizes(), m->places()));
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes2>(m->dtype(), c.node(), [&]<typename T>() {
    const T* const x = m->values().data<T>();
    T* const out = y->values().data<T>();
    each_row(*m, [&](std::int64_t, std::int64_t, std::int64_t begin, std::int64_t end) {
      if (begin == end) return;
      const T most = *std::max_element(x + begin, x + end);
      T all(0);
      for (std::int64_t i = begin; i < end; ++i) all += out[i] = std::exp(x[i] - most);
      for (std::int64_t i = begin; i < end; ++i) out[i] /= all;
    });
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(y));
}

// Returns the values of `from` at the places of `m`; 0 where it has none. The places of `from` may be in any order.
template <typename T>
std::vector<T> values_at(const Matrix& from, std::int64_t batch, std::int64_t row,
                         std::span<const std::int32_t> columns) {
  std::vector<std::pair<std::int32_t, T>> have;
  for (std::int64_t i = from.begin(batch, row); i < from.end(batch, row); ++i)
    have.emplace_back(from.column(i), from.values().data<T>()[i]);
  std::stable_sort(have.begin(), have.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<T> found;
  for (const std::int32_t column : columns) {
    const auto at =
        std::lower_bound(have.begin(), have.end(), column, [](const auto& a, std::int32_t b) { return a.first < b; });
    found.push_back(at != have.end() && at->first == column ? at->second : T(0));
  }
  return found;
}

template <typename T, typename F>
void each_row_with(const Matrix& m, const Matrix& other, F f) {
  each_row(m, [&](std::int64_t b, std::int64_t r, std::int64_t begin, std::int64_t end) {
    if (begin < end)
      f(begin, end,
        values_at<T>(other, b, r,
                     m.columns().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
  });
}

Status same_kind(const Matrix& a, const Matrix& b) {
  if (a.dtype() == b.dtype() && a.sizes() == b.sizes()) return ok_status();
  return invalid_argument("both matrices must have one type and shape, not ", dtype_name(a.dtype()), a.sizes().shape(),
                          " and ", dtype_name(b.dtype()), b.sizes().shape());
}

Status softmax_gradient(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr y, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr dy, csr::input_matrix(c, 1));
  if (y->dtype() != attrs.get_type("type")) return wrong_type(y->dtype(), attrs.get_type("type"));
  ARGOSY_RETURN_IF_ERROR(same_kind(*y, *dy));
  ARGOSY_ASSIGN_OR_RETURN(auto dx, Matrix::make(csr::matrix_memory(c), y->dtype(), y->sizes(), y->places()));
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes2>(y->dtype(), c.node(), [&]<typename T>() {
    const T* const s = y->values().data<T>();
    T* const out = dx->values().data<T>();
    each_row_with<T>(*y, *dy, [&](std::int64_t begin, std::int64_t end, const std::vector<T>& flow) {
      T all(0);
      for (std::int64_t i = begin; i < end; ++i) all += s[i] * flow[static_cast<std::size_t>(i - begin)];
      for (std::int64_t i = begin; i < end; ++i) out[i] = s[i] * (flow[static_cast<std::size_t>(i - begin)] - all);
    });
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(dx));
}

Status at_places(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr from, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr pattern, csr::input_matrix(c, 1));
  ARGOSY_RETURN_IF_ERROR(same_kind(*from, *pattern));
  if (from->same_places(*pattern)) return csr::give_matrix(c, 0, from);
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), from->dtype(), from->sizes(), pattern->places()));
  ARGOSY_RETURN_IF_ERROR(dispatch<csr::ValueTypes>(from->dtype(), c.node(), [&]<typename T>() {
    T* const out = y->values().data<T>();
    each_row_with<T>(*pattern, *from, [&](std::int64_t begin, std::int64_t, const std::vector<T>& found) {
      std::copy(found.begin(), found.end(), out + begin);
    });
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(y));
}

// The values at indices [n, rank].
Status at_indices(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr m, csr::input_matrix(c, 0));
  const Tensor& indices = c.input(1);
  const Shape shape = m->sizes().shape();
  if (indices.shape().rank() != 2 || indices.shape()[1] != shape.rank())
    return invalid_argument("indices must have ", shape.rank(), " columns, not the shape ", indices.shape());
  if (m->dtype() != c.output_dtype(0)) return wrong_type(m->dtype(), c.output_dtype(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({indices.shape()[0]})));
  return dispatch<csr::ValueTypes>(m->dtype(), c.node(), [&]<typename T>() -> Status {
    const auto* at = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < y->elements(); ++i, at += shape.rank()) {
      for (int k = 0; k < shape.rank(); ++k) {
        if (at[k] < 0 || at[k] >= shape[k]) return invalid_argument("indices[", i, "] is outside of ", shape);
      }
      const std::int64_t batch = m->sizes().batched ? at[0] : 0, row = at[shape.rank() - 2];
      T found(0);
      for (std::int64_t k = m->begin(batch, row); k < m->end(batch, row); ++k) {
        if (m->column(k) == at[shape.rank() - 1]) found = m->values().data<T>()[k];
      }
      y->data<T>()[i] = found;
    }
    return ok_status();
  });
}

}  // namespace

void add_csr_arithmetic(KernelRegistry& kernels) {
  kernels.add("SparseMatrixTranspose", "cpu", AttrKernel<transpose>::make);
  kernels.add("Conj", "cpu", conjugated, {{"T", {DType::kVariant}}});
  kernels.add("SparseMatrixAdd", "cpu", add);
  kernels.add("SparseMatrixMul", "cpu", multiply);
  kernels.add("SparseMatrixSoftmax", "cpu", AttrKernel<softmax>::make);
  kernels.add("SparseMatrixSoftmaxGrad", "cpu", AttrKernel<softmax_gradient>::make);
  kernels.add("_SparseMatrixAtPlaces", "cpu", at_places);
  kernels.add("_SparseMatrixAtIndices", "cpu", at_indices);
}

}  // namespace argosy
