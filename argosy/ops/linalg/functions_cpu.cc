// Kernels of matrix functions: square root and logarithm.
#include <cmath>
#include <limits>
#include <optional>
#include <unsupported/Eigen/MatrixFunctions>

#include "argosy/base/threads/interrupt.h"
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
      const double scale = scale_of(a), back = std::sqrt(scale);
      const Matrix<C> found = Matrix<C>(a / scale).sqrt();
      if constexpr (Eigen::NumTraits<T>::IsComplex) {
        root = found * back;
      } else if (found.imag().norm() <= 1e-9 * found.norm()) {
        root = found.real() * back;
      }
      return ok_status();
    });
  });
}

// The principal logarithm by inverse scaling and squaring (Higham, Functions of Matrices, 2008, section 11.5). Roots of
// the Schur form are taken until it is near 1. Then comes a Pade approximant: eight points of Gauss and Legendre.
// Nothing for a singular matrix, or where a root overflows. Eigen's own takes roots for ever there.
std::optional<Matrix<C>> log_of(const Matrix<C>& a) {
  constexpr double kNear = 0.25;
  constexpr int kMostRoots = 1100;  // each halves an exponent, or what stands above a diagonal of ones
  constexpr std::pair<double, double> kPoints[] = {{0.1834346424956498, 0.3626837833783620},
                                                   {0.5255324099163290, 0.3137066458778873},
                                                   {0.7966664774136267, 0.2223810344533745},
                                                   {0.9602898564975363, 0.1012285362903763}};
  const Eigen::ComplexSchur<Matrix<C>> schur(a);
  if (schur.info() != Eigen::Success) return std::nullopt;
  Matrix<C> root = schur.matrixT();
  const Matrix<C> one = Matrix<C>::Identity(a.rows(), a.cols());
  const auto eigenvalues = root.diagonal().eval();
  if (!root.allFinite() || eigenvalues.cwiseAbs().minCoeff() == 0) return std::nullopt;
  int roots = 0;
  for (;; ++roots) {
    check_interrupted();
    const double far = (root - one).cwiseAbs().colwise().sum().maxCoeff();
    if (!std::isfinite(far) || roots > kMostRoots) return std::nullopt;
    if (far < kNear) break;
    Matrix<C> next;
    Eigen::matrix_sqrt_triangular(root, next);
    root = next.template triangularView<Eigen::Upper>();
  }
  const Matrix<C> x = root - one;
  Matrix<C> log = Matrix<C>::Zero(a.rows(), a.cols());
  for (const auto& [point, weight] : kPoints) {
    for (const double at : {(1 + point) / 2, (1 - point) / 2}) {
      log += weight / 2 * (one + at * x).template triangularView<Eigen::Upper>().solve(x);
    }
  }
  log *= std::ldexp(1.0, roots);
  log.diagonal() = eigenvalues.array().log();
  const Matrix<C> result = schur.matrixU() * log.template triangularView<Eigen::Upper>() * schur.matrixU().adjoint();
  if (!result.allFinite()) return std::nullopt;
  return result;
}

Status logarithm(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  const std::int64_t n = s.rows;
  return dispatch<TypeList<std::complex<double>>>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 60 * cube(n), [&](std::int64_t i) {
      const Matrix<T> a = ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n);
      Map<T> to(y.data<T>() + i * n * n, n, n);
      const double scale = a.allFinite() ? scale_of(a) : 0;
      if (const auto log = scale > 0 ? log_of(a / scale) : std::nullopt) {
        to = *log;
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
