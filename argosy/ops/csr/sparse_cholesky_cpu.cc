// Kernels: an order of rows that gives a sparse Cholesky factor little fill-in, and that factor. Both by Eigen, with
// indices of 64 bits: a factor may have far more values than its matrix.
#include <Eigen/SparseCholesky>
#include <algorithm>

#include "argosy/base/memory/held_items.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/csr/csr_matrix.h"

namespace argosy {

void add_sparse_cholesky(KernelRegistry& kernels);

namespace {

using csr::Matrix;
using csr::MatrixPtr;
using csr::Place;

using Index = std::int64_t;
template <typename T>
using Columns = Eigen::SparseMatrix<T, Eigen::ColMajor, Index>;
using Order = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, Index>;

Status check_square(const Matrix& m) {
  if (m.sizes().rows == m.sizes().columns) return ok_status();
  return invalid_argument("sparse matrix must be square; got: ", m.sizes().rows, " != ", m.sizes().columns);
}

// One matrix of a batch, transposed: Eigen stores columns, this matrix has rows.
template <typename T>
Columns<T> transposed_batch(const Matrix& m, std::int64_t batch, const T* values) {
  const Index n = m.sizes().rows, first = m.first_of(batch), count = m.first_of(batch + 1) - first;
  Columns<T> to(n, n);
  to.resizeNonZeros(count);
  const auto pointers = m.row_pointers(batch);
  std::copy(pointers.begin(), pointers.end(), to.outerIndexPtr());
  std::copy_n(m.columns().begin() + first, count, to.innerIndexPtr());
  std::copy_n(values + first, count, to.valuePtr());
  return to;
}

// Input 1: for each matrix, which of its rows comes at each place.
Status check_permutation(const Tensor& t, const Matrix& m) {
  const Shape shape = m.sizes().shape();
  const Shape wanted = shape.removed(shape.rank() - 1);
  if (!(t.shape() == wanted))
    return invalid_argument(
        "permutation must have the same number of elements in each batch as the number of rows in sparse matrix; got: ",
        t.shape(), " != ", wanted);
  const std::int64_t n = m.sizes().rows;
  std::vector<bool> seen;
  for (std::int64_t b = 0; b < m.sizes().batches; ++b) {
    seen.assign(static_cast<std::size_t>(n), false);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = t.data<std::int32_t>()[b * n + i];
      if (row < 0 || row >= n || seen[static_cast<std::size_t>(row)])
        return invalid_argument("permutation has ", row, " at ", i, ": it must name each of ", n, " rows once");
      seen[static_cast<std::size_t>(row)] = true;
    }
  }
  return ok_status();
}

Status order_rows(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr m, csr::input_matrix(c, 0));
  ARGOSY_RETURN_IF_ERROR(check_square(*m));
  const std::int64_t n = m->sizes().rows;
  const Shape shape = m->sizes().shape();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape.removed(shape.rank() - 1)));
  HeldItems held(HostUse::kBuffers, 4 * sizeof(Index), "the order of a sparse matrix");
  // Only the places matter, not the values.
  const std::vector<float> ones(static_cast<std::size_t>(m->count()), 1.0f);
  for (std::int64_t b = 0; b < (n == 0 ? 0 : m->sizes().batches); ++b) {
    check_interrupted();
    ARGOSY_RETURN_IF_ERROR(held.hold(m->first_of(b + 1) - m->first_of(b) + 4 * n));
    const Columns<float> places = transposed_batch(*m, b, ones.data());
    Order order;
    Eigen::AMDOrdering<Index>()(places.template selfadjointView<Eigen::Upper>(), order);
    for (std::int64_t i = 0; i < n; ++i)
      y->data<std::int32_t>()[b * n + i] = static_cast<std::int32_t>(order.indices()[i]);
  }
  return ok_status();
}

// Returns the number of values in the factor of a matrix, given by its upper triangle, by a walk up the elimination
// tree from each value. It checks the budget meanwhile: a factor may be dense even if its matrix is nearly empty.
template <typename T>
Status hold_factor(const Columns<T>& upper, Index before, HeldItems& held) {
  const auto n = static_cast<std::size_t>(upper.cols());
  std::vector<Index> parent(n, -1), seen(n, -1);
  Index count = before + upper.cols();
  Poll poll(4096);
  for (Index k = 0; k < upper.cols(); ++k) {
    seen[static_cast<std::size_t>(k)] = k;
    for (typename Columns<T>::InnerIterator it(upper, k); it; ++it) {
      for (Index i = it.index(); i < k && seen[static_cast<std::size_t>(i)] != k;
           i = parent[static_cast<std::size_t>(i)]) {
        poll();
        if (parent[static_cast<std::size_t>(i)] < 0) parent[static_cast<std::size_t>(i)] = k;
        seen[static_cast<std::size_t>(i)] = k;
        ++count;
      }
    }
    ARGOSY_RETURN_IF_ERROR(held.hold(count));
  }
  return ok_status();
}

// The factor of one batch: its upper triangle by columns, which is the lower one by rows. `before`: the number of
// values in other batches.
template <typename T>
Status factorize(const Matrix& m, std::int64_t batch, const T* values, const std::int32_t* permutation, Index before,
                 HeldItems& held, Columns<T>& factor) {
  const Index n = m.sizes().rows;
  Order order(n);
  std::copy_n(permutation, n, order.indices().data());
  const Columns<T> from = transposed_batch(m, batch, values);
  Columns<T> ordered(n, n);
  ordered.template selfadjointView<Eigen::Upper>() =
      from.template selfadjointView<Eigen::Upper>().twistedBy(order.inverse());
  ARGOSY_RETURN_IF_ERROR(hold_factor(ordered, before, held));
  Eigen::SimplicialLLT<Columns<T>, Eigen::Upper, Eigen::NaturalOrdering<Index>> solver;
  solver.compute(ordered);
  if (solver.info() != Eigen::Success) {
    return invalid_argument("Sparse Cholesky factorization failed for batch index ", batch,
                            ". The input might not be valid.");
  }
  factor = solver.matrixU();
  return ok_status();
}

Status cholesky(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr m, csr::input_matrix(c, 0));
  if (const DType asked = attrs.get_type("type"); m->dtype() != asked) {
    return invalid_argument("Asked for a CSRSparseMatrix of type ", dtype_name(asked),
                            " but saw dtype: ", dtype_name(m->dtype()));
  }
  ARGOSY_RETURN_IF_ERROR(check_square(*m));
  ARGOSY_RETURN_IF_ERROR(check_permutation(c.input(1), *m));
  const csr::Sizes& sizes = m->sizes();
  return dispatch<csr::ValueTypes>(m->dtype(), c.node(), [&]<typename T>() -> Status {
    // Counts Eigen's factor, its transpose, and the result.
    HeldItems held(HostUse::kBuffers, 3 * (sizeof(T) + sizeof(Index)) + sizeof(Place), "a sparse Cholesky factor");
    std::vector<Place> places;
    std::vector<T> all;
    for (std::int64_t b = 0; b < (sizes.rows == 0 ? 0 : sizes.batches); ++b) {
      check_interrupted();
      Columns<T> factor;
      ARGOSY_RETURN_IF_ERROR(factorize(*m, b, m->values().data<T>(), c.input(1).data<std::int32_t>() + b * sizes.rows,
                                       static_cast<Index>(places.size()), held, factor));
      // Read as rows, it is the lower triangle.
      for (Index row = 0; row < factor.cols(); ++row) {
        for (typename Columns<T>::InnerIterator it(factor, row); it; ++it) {
          places.push_back(
              {static_cast<std::int32_t>(b), static_cast<std::int32_t>(row), static_cast<std::int32_t>(it.index())});
          all.push_back(it.value());
        }
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), m->dtype(), sizes, places));
    std::copy(all.begin(), all.end(), y->values().data<T>());
    return csr::give_matrix(c, 0, std::move(y));
  });
}

}  // namespace

void add_sparse_cholesky(KernelRegistry& kernels) {
  kernels.add("SparseMatrixOrderingAMD", "cpu", order_rows);
  kernels.add("SparseMatrixSparseCholesky", "cpu", AttrKernel<cholesky>::make);
}

}  // namespace argosy
