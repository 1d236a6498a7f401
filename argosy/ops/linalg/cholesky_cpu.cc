#include <Eigen/Cholesky>
#include <limits>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

// A matrix that has no factor becomes NaN, as TensorFlow's.
Status cholesky(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    const std::int64_t n = s.rows;
    return for_each(n == 0 ? 0 : s.count, cube(n) / 3, [&](std::int64_t i) {
      const ConstMap<T> a(c.input(0).data<T>() + i * n * n, n, n);
      Map<T> l(y.data<T>() + i * n * n, n, n);
      const Eigen::LLT<Matrix<T>, Eigen::Lower> factors(a);
      if (factors.info() == Eigen::Success) {
        l = factors.matrixL();
      } else {
        l.setZero();
        l.template triangularView<Eigen::Lower>().setConstant(
            T(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::quiet_NaN()));
      }
      return ok_status();
    });
  });
}

// Murray, "Differentiation of the Cholesky decomposition" (2016), section 4.2: l⁻ᴴ Φ(lᴴ dl) l⁻¹, made symmetric, where
// Φ takes the lower triangle and halves its diagonal.
Status cholesky_gradient(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  if (c.input(0).shape() != c.input(1).shape()) {
    return invalid_argument(op.name, ": l and grad must have the same shape, not ", c.input(0).shape(), " and ",
                            c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  return dispatch<TypeList<double>>(c.dtype(), op.name, [&]<typename T>() {
    const std::int64_t n = s.rows;
    return for_each(n == 0 ? 0 : s.count, 3 * cube(n), [&](std::int64_t i) {
      const Matrix<T> l = ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n).template triangularView<Eigen::Lower>();
      const Matrix<T> dl = ConstMap<T>(c.input(1).data<T>() + i * n * n, n, n).template triangularView<Eigen::Lower>();
      const auto lower = l.template triangularView<Eigen::Lower>();
      Matrix<T> middle = Matrix<T>(l.transpose() * dl).template triangularView<Eigen::Lower>();
      middle.diagonal() *= T(0.5);
      Matrix<T> left = lower.transpose().solve(middle);
      const Matrix<T> turned = left.transpose();
      left = lower.transpose().solve(turned).transpose();
      Map<T>(y.data<T>() + i * n * n, n, n) = (left + left.transpose()) * T(0.5);
      return ok_status();
    });
  });
}

}  // namespace

void add_cholesky(KernelRegistry& kernels) {
  for (const char* op : {"Cholesky", "BatchCholesky"}) kernels.add(op, "cpu", MatrixKernel<cholesky>::make);
  for (const char* op : {"CholeskyGrad", "BatchCholeskyGrad"})
    kernels.add(op, "cpu", MatrixKernel<cholesky_gradient>::make);
}

}  // namespace argosy::linalg
