// Kernels by LU decomposition with partial pivoting: solutions, inverses, determinants.
#include <Eigen/LU>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

template <typename T>
using Factors = Eigen::PartialPivLU<Matrix<T>>;

// NaN counts as no pivot.
template <typename T>
bool singular(const Factors<T>& factors) {
  const auto least = factors.matrixLU().diagonal().cwiseAbs().minCoeff();
  return !(least > 0) || factors.matrixLU().hasNaN();
}
Status not_invertible(const MatrixOp& op) {
  return invalid_argument("Input is not invertible: ", op.name, ": Input matrix is not invertible.");
}

Status inverse(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(0).shape()));
  const bool adjoint = op.attrs.get_bool("adjoint");
  const std::int64_t n = s.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 2 * cube(n), [&](std::int64_t i) {
      const ConstMap<T> a(c.input(0).data<T>() + i * n * n, n, n);
      const Factors<T> factors = adjoint ? Factors<T>(a.adjoint()) : Factors<T>(a);
      if (singular<T>(factors)) return not_invertible(op);
      Map<T>(y.data<T>() + i * n * n, n, n) = factors.inverse();
      return ok_status();
    });
  });
}

Status solve(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Stack r, stack_of(op.name, c.input(1)));
  ARGOSY_RETURN_IF_ERROR(same_batch(op.name, s, r));
  if (s.rows != r.rows) {
    return invalid_argument(op.name, ": Input matrix and rhs are incompatible: ", c.input(0).shape(), " and ",
                            c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(1).shape()));
  const bool adjoint = op.attrs.get_bool("adjoint");
  const std::int64_t n = s.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(y.elements() == 0 ? 0 : s.count, cube(n), [&](std::int64_t i) {
      const ConstMap<T> a(c.input(0).data<T>() + i * n * n, n, n);
      const ConstMap<T> b(c.input(1).data<T>() + i * n * r.columns, n, r.columns);
      const Factors<T> factors = adjoint ? Factors<T>(a.adjoint()) : Factors<T>(a);
      if (singular<T>(factors)) return not_invertible(op);
      Map<T>(y.data<T>() + i * n * r.columns, n, r.columns) = factors.solve(b);
      return ok_status();
    });
  });
}

// The determinant's sign (of complex matrices: direction) and the logarithm of its size.
template <typename T>
struct Determinant {
  T sign{1};
  typename Eigen::NumTraits<T>::Real log_size{0};

  explicit Determinant(const ConstMap<T>& a) {
    const Factors<T> factors(a);
    sign = T(static_cast<typename Eigen::NumTraits<T>::Real>(factors.permutationP().determinant()));
    for (Eigen::Index k = 0; k < a.rows(); ++k) {
      const T pivot = factors.matrixLU()(k, k);
      const auto size = std::abs(pivot);
      sign *= size == 0 ? T(0) : pivot / size;
      log_size += std::log(size);
    }
  }
};

Status log_determinant(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor sign, c.output(0, s.with({})));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor size, c.output(1, s.with({})));
  const std::int64_t n = s.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(s.count, cube(n), [&](std::int64_t i) {
      if (n == 0) {
        sign.data<T>()[i] = T(1);
        size.data<T>()[i] = T(0);
        return ok_status();
      }
      const Determinant<T> d(ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n));
      sign.data<T>()[i] = d.sign;
      size.data<T>()[i] = T(d.log_size);
      return ok_status();
    });
  });
}

Status determinant(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, s.with({})));
  const std::int64_t n = s.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(s.count, cube(n), [&](std::int64_t i) {
      if (n == 0) {
        y.data<T>()[i] = T(1);
        return ok_status();
      }
      const Determinant<T> d(ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n));
      y.data<T>()[i] = d.sign * T(std::exp(d.log_size));
      return ok_status();
    });
  });
}

Status lu(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  const std::int64_t n = s.rows;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor packed, c.output(0, c.input(0).shape()));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor order, c.output(1, s.with({n})));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return dispatch<IndexTypes>(order.dtype(), op.name, [&]<typename I>() {
      return for_each(n == 0 ? 0 : s.count, cube(n), [&](std::int64_t i) {
        const Factors<T> factors(ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n));
        if (singular<T>(factors)) return invalid_argument(op.name, ": Input is not invertible.");
        Map<T>(packed.data<T>() + i * n * n, n, n) = factors.matrixLU();
        // Row k of the factors is row order[k] of the input.
        const auto& to = factors.permutationP().indices();
        for (std::int64_t k = 0; k < n; ++k) order.data<I>()[i * n + to[k]] = static_cast<I>(k);
        return ok_status();
      });
    });
  });
}

}  // namespace

void add_lu(KernelRegistry& kernels) {
  for (const char* op : {"MatrixInverse", "BatchMatrixInverse"}) kernels.add(op, "cpu", MatrixKernel<inverse>::make);
  for (const char* op : {"MatrixSolve", "BatchMatrixSolve"}) kernels.add(op, "cpu", MatrixKernel<solve>::make);
  for (const char* op : {"MatrixDeterminant", "BatchMatrixDeterminant"})
    kernels.add(op, "cpu", MatrixKernel<determinant>::make);
  kernels.add("LogMatrixDeterminant", "cpu", MatrixKernel<log_determinant>::make);
  kernels.add("Lu", "cpu", MatrixKernel<lu>::make);
}

}  // namespace argosy::linalg
