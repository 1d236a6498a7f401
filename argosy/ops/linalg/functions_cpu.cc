// Functions of whole matrices.
#include <limits>
#include <unsupported/Eigen/MatrixFunctions>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

using C = std::complex<double>;

template <typename T>
T not_a_number() {
  return T(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::quiet_NaN());
}

Status square_root(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  const std::int64_t n = s.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 30 * cube(n), [&](std::int64_t i) {
      // Through complex numbers: a real matrix may have none but complex roots, and then becomes NaN.
      const Matrix<C> a = ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n).template cast<C>();
      Map<T> root(y.data<T>() + i * n * n, n, n);
      root.setConstant(not_a_number<T>());
      if (!a.allFinite()) return ok_status();
      const Matrix<C> found = a.sqrt();
      if constexpr (Eigen::NumTraits<T>::IsComplex) {
        root = found;
      } else if (found.imag().norm() <= 1e-9 * (1 + found.real().norm())) {
        root = found.real();
      }
      return ok_status();
    });
  });
}

Status logarithm(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  const std::int64_t n = s.rows;
  return dispatch<TypeList<std::complex<double>>>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 60 * cube(n), [&](std::int64_t i) {
      const Matrix<T> a = ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n);
      Map<T> to(y.data<T>() + i * n * n, n, n);
      if (a.allFinite() && a.squaredNorm() > 0) {
        to = a.log();
      } else {
        to.setConstant(T(not_a_number<T>().real(), not_a_number<T>().real()));
      }
      return ok_status();
    });
  });
}

}  // namespace

void add_functions(KernelRegistry& kernels) {
  kernels.add("MatrixSquareRoot", "cpu", MatrixKernel<square_root>::make);
  kernels.add("MatrixLogarithm", "cpu", MatrixKernel<logarithm>::make);
}

}  // namespace argosy::linalg
