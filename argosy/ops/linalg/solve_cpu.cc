// Kernel: solves triangular systems; batch axes broadcast.
#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

// Which matrix of a stack goes with each of the broadcast one.
std::vector<std::int64_t> places(const Stack& s, const Shape& all) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(all.elements()));
  const int missing = all.rank() - static_cast<int>(s.batch.size());
  for (std::int64_t i = 0; i < all.elements(); ++i) {
    std::int64_t rest = i, place = 0, stride = 1;
    for (int k = all.rank() - 1; k >= 0; --k) {
      const std::int64_t coordinate = rest % all[k];
      rest /= all[k];
      if (k < missing) continue;
      const std::int64_t size = s.batch[static_cast<std::size_t>(k - missing)];
      if (size != 1) place += coordinate * stride;
      stride *= size;
    }
    at[static_cast<std::size_t>(i)] = place;
  }
  return at;
}

template <typename T, typename A>
void solve_one(const A& a, Map<T> x, bool lower, bool adjoint) {
  if (lower && !adjoint) {
    a.template triangularView<Eigen::Lower>().solveInPlace(x);
  } else if (lower) {
    a.adjoint().template triangularView<Eigen::Upper>().solveInPlace(x);
  } else if (!adjoint) {
    a.template triangularView<Eigen::Upper>().solveInPlace(x);
  } else {
    a.adjoint().template triangularView<Eigen::Lower>().solveInPlace(x);
  }
}

struct Call {
  Stack matrix, rhs;
  Shape batch, output;
  std::vector<std::int64_t> matrix_at, rhs_at;
};

Result<Call> prepare(const MatrixOp& op, const MatrixCall& c, bool banded) {
  Call call;
  ARGOSY_ASSIGN_OR_RETURN(call.matrix, banded ? stack_of(op.name, c.input(0)) : square_stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(call.rhs, stack_of(op.name, c.input(1)));
  if (call.matrix.columns != call.rhs.rows) {
    return invalid_argument(op.name, ": matrix ", c.input(0).shape(), " and rhs ", c.input(1).shape(),
                            " are incompatible");
  }
  ARGOSY_ASSIGN_OR_RETURN(call.batch, broadcast(call.matrix.with({}), call.rhs.with({})));
  std::vector<std::int64_t> sizes(call.batch.sizes().begin(), call.batch.sizes().end());
  sizes.insert(sizes.end(), {call.rhs.rows, call.rhs.columns});
  ARGOSY_ASSIGN_OR_RETURN(call.output, Shape::make(sizes));
  call.matrix_at = places(call.matrix, call.batch);
  call.rhs_at = places(call.rhs, call.batch);
  return call;
}

Status triangular(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(op, c, false));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, call.output));
  const bool lower = op.attrs.get_bool("lower"), adjoint = op.attrs.get_bool("adjoint");
  const std::int64_t n = call.rhs.rows, k = call.rhs.columns;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    const std::int64_t count = y.elements() == 0 ? 0 : call.batch.elements();
    return for_each(count, static_cast<double>(n) * static_cast<double>(n * k), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      Map<T> x(y.data<T>() + i * n * k, n, k);
      x = ConstMap<T>(c.input(1).data<T>() + call.rhs_at[at] * n * k, n, k);
      solve_one<T>(ConstMap<T>(c.input(0).data<T>() + call.matrix_at[at] * n * n, n, n), x, lower, adjoint);
      return ok_status();
    });
  });
}

// Bands lie as rows: of a lower matrix the diagonal first, those below it shifted left; of an upper one the diagonal
// last. Element [b][j] stands in column j.
Status banded(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Call call, prepare(op, c, true));
  if (call.matrix.rows < 1) return invalid_argument(op.name, ": matrix has no bands: ", c.input(0).shape());
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, call.output));
  const bool lower = op.attrs.get_bool("lower"), adjoint = op.attrs.get_bool("adjoint");
  const std::int64_t n = call.rhs.rows, k = call.rhs.columns, bands = call.matrix.rows;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    const std::int64_t count = y.elements() == 0 ? 0 : call.batch.elements();
    return for_each(count, static_cast<double>(bands) * static_cast<double>(n * k), [&](std::int64_t i) -> Status {
      const auto at = static_cast<std::size_t>(i);
      const T* const a = c.input(0).data<T>() + call.matrix_at[at] * bands * n;
      const T* const diagonal = lower ? a : a + (bands - 1) * n;
      for (std::int64_t j = 0; j < n; ++j) {
        if (diagonal[j] == T(0))
          return invalid_argument("Input is not invertible: ", op.name, ": Input matrix is not invertible.");
      }
      Map<T> x(y.data<T>() + i * n * k, n, k);
      x = ConstMap<T>(c.input(1).data<T>() + call.rhs_at[at] * n * k, n, k);
      // Element (row, column) of the matrix that is solved with.
      const auto element = [&](std::int64_t row, std::int64_t column) {
        if (adjoint) std::swap(row, column);
        const T value = lower ? a[(row - column) * n + row] : a[(bands - 1 - (column - row)) * n + row];
        if constexpr (Eigen::NumTraits<T>::IsComplex) return adjoint ? std::conj(value) : value;
        return value;
      };
      const bool forwards = lower != adjoint;
      for (std::int64_t step = 0; step < n; ++step) {
        check_interrupted();
        const std::int64_t row = forwards ? step : n - 1 - step;
        for (std::int64_t d = 1; d < std::min(bands, step + 1); ++d) {
          const std::int64_t column = forwards ? row - d : row + d;
          x.row(row) -= element(row, column) * x.row(column);
        }
        x.row(row) /= element(row, row);
      }
      return ok_status();
    });
  });
}

}  // namespace

void add_solve(KernelRegistry& kernels) {
  for (const char* op : {"MatrixTriangularSolve", "BatchMatrixTriangularSolve"})
    kernels.add(op, "cpu", MatrixKernel<triangular>::make);
  kernels.add("BandedTriangularSolve", "cpu", MatrixKernel<banded>::make);
}

}  // namespace argosy::linalg
