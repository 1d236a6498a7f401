#include <Eigen/Eigenvalues>
#include <cstring>

#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

Status self_adjoint(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  const bool vectors = op.attrs.get_bool("compute_v");
  const std::int64_t n = s.rows;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor e, c.output(0, s.with({n})));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor v, c.output(1, vectors ? s.with({n, n}) : Shape{0}));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 10 * cube(n), [&](std::int64_t i) {
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
          Matrix<T>(ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n)),
          vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
      if (solver.info() != Eigen::Success) {
        return invalid_argument(op.name,
                                ": Self-adjoint eigen decomposition was not successful. The input might not be valid.");
      }
      for (std::int64_t k = 0; k < n; ++k) e.data<T>()[i * n + k] = T(solver.eigenvalues()[k]);
      if (vectors) Map<T>(v.data<T>() + i * n * n, n, n) = solver.eigenvectors();
      return ok_status();
    });
  });
}

// Of version 1: a row of eigenvalues, and the vectors below it.
Status stacked(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  const std::int64_t n = s.rows;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, s.with({n + 1, n})));
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(n == 0 ? 0 : s.count, 10 * cube(n), [&](std::int64_t i) {
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
          Matrix<T>(ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n)));
      if (solver.info() != Eigen::Success) {
        return invalid_argument(op.name,
                                ": Self-adjoint eigen decomposition was not successful. The input might not be valid.");
      }
      Map<T> to(y.data<T>() + i * (n + 1) * n, n + 1, n);
      to.row(0) = solver.eigenvalues().transpose().template cast<T>();
      to.bottomRows(n) = solver.eigenvectors();
      return ok_status();
    });
  });
}

Status general(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, square_stack_of(op.name, c.input(0)));
  const bool vectors = op.attrs.get_bool("compute_v");
  const bool wide = c.input_dtype(0) == DType::kFloat64 || c.input_dtype(0) == DType::kComplex128;
  if (wide != (c.output_dtype(0) == DType::kComplex128)) {
    return invalid_argument(op.name, ": Invalid output dtype ", dtype_name(c.output_dtype(0)), " for ",
                            dtype_name(c.input_dtype(0)));
  }
  const std::int64_t n = s.rows;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor e, c.output(0, s.with({n})));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor v, c.output(1, vectors ? s.with({n, n}) : Shape{}));
  if (!vectors) std::memset(v.raw(), 0, v.bytes());
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    using C = std::complex<typename Eigen::NumTraits<T>::Real>;
    return for_each(n == 0 ? 0 : s.count, 25 * cube(n), [&](std::int64_t i) {
      const Matrix<C> a = ConstMap<T>(c.input(0).data<T>() + i * n * n, n, n).template cast<C>();
      if (!a.allFinite()) return invalid_argument(op.name, ": Eigen decomposition was not successful: infinite or NaN");
      const Eigen::ComplexEigenSolver<Matrix<C>> solver(a, vectors);
      if (solver.info() != Eigen::Success) {
        return invalid_argument(op.name, ": Eigen decomposition was not successful. The input might not be valid.");
      }
      for (std::int64_t k = 0; k < n; ++k) e.data<C>()[i * n + k] = solver.eigenvalues()[k];
      if (vectors) Map<C>(v.data<C>() + i * n * n, n, n) = solver.eigenvectors();
      return ok_status();
    });
  });
}

}  // namespace

void add_eigen(KernelRegistry& kernels) {
  for (const char* op : {"SelfAdjointEigV2", "BatchSelfAdjointEigV2"})
    kernels.add(op, "cpu", MatrixKernel<self_adjoint>::make);
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) kernels.add(op, "cpu", MatrixKernel<stacked>::make);
  kernels.add("Eig", "cpu", MatrixKernel<general>::make);
}

}  // namespace argosy::linalg
