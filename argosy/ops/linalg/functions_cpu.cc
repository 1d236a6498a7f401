// Functions of whole matrices.
#include <cmath>
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

// What a finite matrix is divided by first: a power of four. Near the ends of the range Eigen's QR steps over- or
// underflow, and do not converge. Elsewhere 1: no bit changes.
template <typename M>
double scale_of(const M& a) {
  const double largest = a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff();
  if (largest == 0 || (largest > 1e-100 && largest < 1e100)) return 1;
  return std::ldexp(1.0, std::ilogb(largest) / 2 * 2);
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
      const double scale = scale_of(a);
      const Matrix<C> found = Matrix<C>(a / scale).sqrt() * std::sqrt(scale);
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
      if (a.allFinite() && a.cwiseAbs().maxCoeff() > 0) {
        const double scale = scale_of(a);
        to = Matrix<T>(a / scale).log();
        if (scale != 1) to.diagonal().array() += std::log(scale);
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
