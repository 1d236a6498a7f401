#include <Eigen/SVD>
#include <limits>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

struct Outputs {
  Tensor s, u, v;
};

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
  const unsigned options = !vectors ? 0u
                           : full   ? unsigned{Eigen::ComputeFullU} | unsigned{Eigen::ComputeFullV}
                                    : unsigned{Eigen::ComputeThinU} | unsigned{Eigen::ComputeThinV};
  const Eigen::BDCSVD<Matrix<T>> svd(a, options);
  for (std::int64_t j = 0; j < k; ++j) s[j] = T(svd.singularValues()[j]);
  if (!vectors) return;
  Map<T>(out.u.data<T>() + i * m * u_columns, m, u_columns) = svd.matrixU();
  Map<T>(out.v.data<T>() + i * n * v_columns, n, v_columns) = svd.matrixV();
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
