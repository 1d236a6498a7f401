#include <Eigen/QR>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

Status qr(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, stack_of(op.name, c.input(0)));
  const std::int64_t m = s.rows, n = s.columns;
  const std::int64_t inner = op.attrs.get_bool("full_matrices") ? m : std::min(m, n);
  ARGOSY_ASSIGN_OR_RETURN(const Tensor q, c.output(0, s.with({m, inner})));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor r, c.output(1, s.with({inner, n})));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(s.count, 4 * cube(std::max(m, n)), [&](std::int64_t i) {
      Map<T> to_q(q.data<T>() + i * m * inner, m, inner);
      if (m == 0 || n == 0) {
        to_q.setIdentity();
        return ok_status();
      }
      const Eigen::HouseholderQR<Matrix<T>> factors(ConstMap<T>(c.input(0).data<T>() + i * m * n, m, n));
      to_q.setIdentity();
      Matrix<T> identity = Matrix<T>::Identity(m, inner);
      to_q = factors.householderQ() * identity;
      Map<T> to_r(r.data<T>() + i * inner * n, inner, n);
      to_r.setZero();
      to_r.topRows(std::min(m, n)).template triangularView<Eigen::Upper>() =
          factors.matrixQR().topRows(std::min(m, n)).template triangularView<Eigen::Upper>();
      return ok_status();
    });
  });
}

}  // namespace

void add_qr(KernelRegistry& kernels) { kernels.add("Qr", "cpu", MatrixKernel<qr>::make); }

}  // namespace argosy::linalg
