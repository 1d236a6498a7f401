#include <Eigen/Cholesky>
#include <limits>
#include <numeric>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/linalg/householder.h"
#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

// By the normal equations of the shorter side.
template <typename T>
Status fast_solution(const MatrixOp& op, const Matrix<T>& a, const Matrix<T>& b, T l2, Map<T> x) {
  const bool tall = a.rows() >= a.cols();
  Matrix<T> gram = tall ? Matrix<T>(a.adjoint() * a) : Matrix<T>(a * a.adjoint());
  gram.diagonal().array() += l2;
  const Eigen::LLT<Matrix<T>, Eigen::Lower> factors(gram);
  if (factors.info() != Eigen::Success) {
    return invalid_argument(op.name,
                            ": Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
                            "larger l2_regularizer > 0.");
  }
  if (tall) {
    x = factors.solve(Matrix<T>(a.adjoint() * b));
  } else {
    x = a.adjoint() * Matrix<T>(factors.solve(b));
  }
  return ok_status();
}

// The shortest of all best solutions, by the complete orthogonal decomposition a = q [r 0; 0 0] z pᵀ: reflections of
// columns, the longest that is left first, until what is left is rounding; then of the rows that were found. Golub and
// Van Loan, "Matrix Computations" (4th ed.), section 5.5.
template <typename T>
Columns<T> shortest_solution(const Matrix<T>& matrix, const Matrix<T>& rhs) {
  Columns<T> a = matrix, b = rhs;
  const Eigen::Index m = a.rows(), n = a.cols(), most = std::min(m, n);
  std::vector<Eigen::Index> from(static_cast<std::size_t>(n));  // p: which column of the matrix stands where
  std::iota(from.begin(), from.end(), 0);
  double least = 0;
  Eigen::Index rank = 0;
  for (; rank < most; ++rank) {
    check_interrupted();
    Eigen::Index longest = rank;
    double length = 0;
    for (Eigen::Index j = rank; j < n; ++j) {
      const double of_column = a.col(j).tail(m - rank).norm();
      if (of_column > length) longest = j, length = of_column;
    }
    if (rank == 0) least = length * std::numeric_limits<double>::epsilon() * static_cast<double>(most);
    if (!(length > least)) break;
    a.col(rank).swap(a.col(longest));
    std::swap(from[static_cast<std::size_t>(rank)], from[static_cast<std::size_t>(longest)]);
    const Householder<T> q(a.col(rank).tail(m - rank));
    q.apply_adjoint(a, rank + 1);
    q.apply_adjoint(b);
    a(rank, rank) = T(q.length());
  }
  Columns<T> rows = Columns<T>::Zero(n, rank);  // adjoint of the rows that were found
  for (Eigen::Index i = 0; i < rank; ++i) rows.col(i).tail(n - i) = a.row(i).tail(n - i).adjoint();
  std::vector<Householder<T>> z;
  for (Eigen::Index i = 0; i < rank; ++i) {
    check_interrupted();
    z.emplace_back(rows.col(i).tail(n - i)).apply_adjoint(rows, i + 1);
    rows(i, i) = T(z.back().length());
  }
  Columns<T> y = Columns<T>::Zero(n, b.cols());
  for (Eigen::Index k = 0; k < b.cols(); ++k) {
    check_interrupted();
    for (Eigen::Index i = 0; i < rank; ++i) {
      y(i, k) = (b(i, k) - rows.col(i).head(i).dot(y.col(k).head(i))) / rows(i, i);
    }
  }
  for (auto h = z.rbegin(); h != z.rend(); ++h) h->apply(y);
  Columns<T> x(n, b.cols());
  for (Eigen::Index j = 0; j < n; ++j) x.row(from[static_cast<std::size_t>(j)]) = y.row(j);
  return x;
}

Status least_squares(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Stack r, stack_of(op.name, c.input(1)));
  ARGOSY_RETURN_IF_ERROR(same_batch(op.name, s, r));
  if (s.rows != r.rows) {
    return invalid_argument(op.name, ": Input matrix and rhs are incompatible: ", c.input(0).shape(), " and ",
                            c.input(1).shape());
  }
  if (c.input(2).shape().rank() != 0) {
    return invalid_argument(op.name, ": l2_regularizer must be scalar, not of shape ", c.input(2).shape());
  }
  const double l2 = *c.input(2).data<double>();
  if (!(l2 >= 0)) return invalid_argument(op.name, ": l2_regularizer must be >= 0, not ", l2);
  const std::int64_t sizes[] = {s.count, s.columns, r.columns};
  ARGOSY_RETURN_IF_ERROR(Shape::make(sizes).status());
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, s.with({s.columns, r.columns})));
  const bool fast = op.attrs.get_bool("fast");
  const std::int64_t m = s.rows, n = s.columns, k = r.columns;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(y.elements() == 0 ? 0 : s.count, 2 * cube(std::max(m, n)), [&](std::int64_t i) {
      Map<T> x(y.data<T>() + i * n * k, n, k);
      x.setZero();
      if (m == 0) return ok_status();  // nothing is asked: the shortest answer
      const Matrix<T> a = ConstMap<T>(c.input(0).data<T>() + i * m * n, m, n);
      const Matrix<T> b = ConstMap<T>(c.input(1).data<T>() + i * m * k, m, k);
      if (fast) return fast_solution<T>(op, a, b, T(static_cast<typename Eigen::NumTraits<T>::Real>(l2)), x);
      x = shortest_solution<T>(a, b);
      return ok_status();
    });
  });
}

}  // namespace

void add_least_squares(KernelRegistry& kernels) {
  for (const char* op : {"MatrixSolveLs", "BatchMatrixSolveLs"})
    kernels.add(op, "cpu", MatrixKernel<least_squares>::make);
}

}  // namespace argosy::linalg
