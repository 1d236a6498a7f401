#include <Eigen/SVD>
#include <limits>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/linalg/householder.h"
#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

using C = std::complex<double>;

struct Outputs {
  Tensor s, u, v;
};

template <typename T>
struct Factors {
  Eigen::VectorXd s;
  Columns<T> u, v;
};

// Eigen's decomposition, for one scalar type and one order of elements: it takes long to compile.
Factors<double> factors_of(const Matrix<double>& a, bool vectors, bool full) {
  const unsigned options = !vectors ? 0u
                           : full   ? unsigned{Eigen::ComputeFullU} | unsigned{Eigen::ComputeFullV}
                                    : unsigned{Eigen::ComputeThinU} | unsigned{Eigen::ComputeThinV};
  const Eigen::BDCSVD<Columns<double>> svd(Columns<double>(a), options);
  if (!vectors) return {svd.singularValues(), {}, {}};
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

// Of a complex matrix: reflections from both sides leave a real one of two diagonals, whose factors they then turn
// back. Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix" (1965).
Factors<C> factors_of(const Matrix<C>& matrix, bool vectors, bool full) {
  const bool wide = matrix.cols() > matrix.rows();
  Columns<C> a = wide ? Columns<C>(matrix.adjoint()) : Columns<C>(matrix);
  const Eigen::Index m = a.rows(), n = a.cols();
  // Squares of lengths shall neither overflow nor vanish.
  const double scale = std::max(a.cwiseAbs().maxCoeff(), std::numeric_limits<double>::min());
  a *= 1 / scale;
  std::vector<Householder<C>> left, right;
  Matrix<double> diagonals = Matrix<double>::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    check_interrupted();
    diagonals(k, k) = left.emplace_back(a.col(k).tail(m - k)).length();
    left.back().apply_adjoint(a, k + 1);
    if (k + 1 == n) break;
    diagonals(k, k + 1) = right.emplace_back(a.row(k).tail(n - k - 1).adjoint()).length();
    right.back().apply_right(a, k + 1);
  }
  const Factors<double> inner = factors_of(diagonals, vectors, true);
  Factors<C> factors{inner.s * scale, {}, {}};
  if (!vectors) return factors;
  factors.u = Columns<C>::Identity(m, full ? m : n);
  factors.u.topLeftCorner(n, n) = inner.u.cast<C>();
  factors.v = inner.v.cast<C>();
  for (auto h = left.rbegin(); h != left.rend(); ++h) h->apply(factors.u);
  for (auto h = right.rbegin(); h != right.rend(); ++h) h->apply(factors.v);
  if (wide) factors.u.swap(factors.v);
  return factors;
}

template <typename T>
void factor(const Matrix<T>& a, const Outputs& out, std::int64_t i, bool vectors, bool full, std::int64_t inner) {
  using Real = typename Eigen::NumTraits<T>::Real;
  const std::int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  const std::int64_t u_columns = full ? m : inner, v_columns = full ? n : inner;
  T* const s = out.s.data<T>() + i * k;
  if (k == 0) {
    if (!vectors) return;
    Map<T>(out.u.data<T>() + i * m * u_columns, m, u_columns).setIdentity();
    Map<T>(out.v.data<T>() + i * n * v_columns, n, v_columns).setIdentity();
    return;
  }
  if (!a.allFinite()) {
    const T nan(std::numeric_limits<Real>::quiet_NaN());
    std::fill_n(s, k, nan);
    if (!vectors) return;
    std::fill_n(out.u.data<T>() + i * m * u_columns, m * u_columns, nan);
    std::fill_n(out.v.data<T>() + i * n * v_columns, n * v_columns, nan);
    return;
  }
  const Factors<T> factors = factors_of(a, vectors, full);
  for (std::int64_t j = 0; j < k; ++j) s[j] = T(factors.s[j]);
  if (!vectors) return;
  Map<T>(out.u.data<T>() + i * m * u_columns, m, u_columns) = factors.u;
  Map<T>(out.v.data<T>() + i * n * v_columns, n, v_columns) = factors.v;
}

Status svd(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, stack_of(op.name, c.input(0)));
  const bool vectors = op.attrs.get_bool("compute_uv"), full = op.attrs.get_bool("full_matrices");
  const std::int64_t m = s.rows, n = s.columns, inner = std::min(m, n);
  Outputs out;
  ARGOSY_ASSIGN_OR_RETURN(out.s, c.output(0, s.with({inner})));
  const Shape none{0};
  ARGOSY_ASSIGN_OR_RETURN(out.u, c.output(1, vectors ? s.with({m, full ? m : inner}) : none));
  ARGOSY_ASSIGN_OR_RETURN(out.v, c.output(2, vectors ? s.with({n, full ? n : inner}) : none));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(s.count, 20 * cube(std::max(m, n)), [&](std::int64_t i) {
      factor<T>(Matrix<T>(ConstMap<T>(c.input(0).data<T>() + i * m * n, m, n)), out, i, vectors, full, inner);
      return ok_status();
    });
  });
}

}  // namespace

void add_svd(KernelRegistry& kernels) {
  for (const char* op : {"Svd", "BatchSvd"}) kernels.add(op, "cpu", MatrixKernel<svd>::make);
}

}  // namespace argosy::linalg
