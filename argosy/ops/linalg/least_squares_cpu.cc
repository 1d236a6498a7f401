#include <Eigen/Cholesky>
#include <Eigen/QR>

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
      x = Eigen::CompleteOrthogonalDecomposition<Matrix<T>>(a).solve(b);
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
