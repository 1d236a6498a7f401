// Kernels of tridiagonal matrices: products, and solving by elimination. With partial pivoting, if the op asks for it,
// a second superdiagonal fills in.
#include <cmath>
#include <limits>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/linalg/matrices.h"

namespace argosy::linalg {

namespace {

// Diagonals as [3, n]: above (its last element unused), main, below (its first unused).
template <typename T>
struct Tridiagonal {
  const T *above, *main, *below;
};

// Thomas' algorithm. False at a pivot 0.
template <typename T>
bool eliminate(const Tridiagonal<T>& a, std::int64_t n, Map<T> x) {
  std::vector<T> above(static_cast<std::size_t>(n));
  if (a.main[0] == T(0)) return false;
  above[0] = a.above[0] / a.main[0];
  x.row(0) /= a.main[0];
  Poll poll(256);
  for (std::int64_t i = 1; i < n; ++i) {
    poll();
    const T pivot = a.main[i] - a.below[i] * above[static_cast<std::size_t>(i - 1)];
    if (pivot == T(0)) return false;
    above[static_cast<std::size_t>(i)] = a.above[i] / pivot;
    x.row(i) = (x.row(i) - a.below[i] * x.row(i - 1)) / pivot;
  }
  for (std::int64_t i = n - 2; i >= 0; --i) x.row(i) -= above[static_cast<std::size_t>(i)] * x.row(i + 1);
  return true;
}

template <typename T>
bool eliminate_pivoting(const Tridiagonal<T>& a, std::int64_t n, Map<T> x) {
  struct UpperRow {
    T pivot, next, after;
  };
  std::vector<UpperRow> rows(static_cast<std::size_t>(n));
  UpperRow current{a.main[0], n > 1 ? a.above[0] : T(0), T(0)};
  Poll poll(256);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    poll();
    UpperRow below{a.below[i + 1], a.main[i + 1], i + 2 < n ? a.above[i + 1] : T(0)};
    if (std::abs(below.pivot) > std::abs(current.pivot)) {
      std::swap(current, below);
      x.row(i).swap(x.row(i + 1));
    }
    if (current.pivot == T(0)) return false;
    const T factor = below.pivot / current.pivot;
    rows[static_cast<std::size_t>(i)] = current;
    x.row(i + 1) -= factor * x.row(i);
    current = {below.next - factor * current.next, below.after - factor * current.after, T(0)};
  }
  if (current.pivot == T(0)) return false;
  rows[static_cast<std::size_t>(n - 1)] = current;
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const UpperRow& row = rows[static_cast<std::size_t>(i)];
    if (i + 1 < n) x.row(i) -= row.next * x.row(i + 1);
    if (i + 2 < n) x.row(i) -= row.after * x.row(i + 2);
    x.row(i) /= row.pivot;
  }
  return true;
}

// Of the dtype that a node has, where it is narrower than what is computed with.
struct Precision {
  double epsilon, smallest;
  template <typename T>
  static Precision of() {
    return {static_cast<double>(std::numeric_limits<T>::epsilon()), static_cast<double>(std::numeric_limits<T>::min())};
  }
};
Precision precision_of(DType dtype) {
  const bool narrow = dtype == DType::kFloat32 || dtype == DType::kComplex64;
  return narrow ? Precision::of<float>() : Precision::of<double>();
}

// A pivot by which `row` can be divided: one too small is moved by `step`, twice that, and so on (LAPACK's xLAGTS).
template <typename T>
T safe_pivot(T pivot, double step, const Precision& precision, Eigen::Matrix<T, 1, Eigen::Dynamic>& row) {
  const double smallest = precision.smallest, largest = 1 / smallest;
  step = std::copysign(std::max(step, smallest), std::real(pivot));
  const double most = row.cwiseAbs().maxCoeff();
  for (double size = std::abs(pivot); size < 1; size = std::abs(pivot)) {
    if (size >= smallest && most <= size * largest) break;
    if (size > 0 && size < smallest && most * smallest <= size) {
      row *= largest;
      return pivot * largest;
    }
    pivot += step;
    step *= 2;
  }
  return pivot;
}

// As eliminate_pivoting(), of a matrix that may be singular (LAPACK's xLAGTF, xLAGTS). Rows are exchanged by their
// scaled pivots. Pivots near 0 are moved by a rounding of the largest element.
template <typename T>
void eliminate_perturbing(const Tridiagonal<T>& a, std::int64_t n, const Precision& precision, Map<T> x) {
  struct UpperRow {
    T pivot, next, after;
    double largest() const { return std::max({std::abs(pivot), std::abs(next), std::abs(after)}); }
  };
  std::vector<UpperRow> rows(static_cast<std::size_t>(n));
  UpperRow current{a.main[0], n > 1 ? a.above[0] : T(0), T(0)};
  double scale = std::abs(current.pivot) + std::abs(current.next), largest = current.largest();
  Poll poll(256);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    poll();
    UpperRow below{a.below[i + 1], a.main[i + 1], i + 2 < n ? a.above[i + 1] : T(0)};
    const double scale_below = std::abs(below.pivot) + std::abs(below.next) + std::abs(below.after);
    const double pivot = current.pivot == T(0) ? 0 : std::abs(current.pivot) / scale;
    const bool done = below.pivot == T(0);  // its zeros keep their signs, by which pivots are moved
    if (done || std::abs(below.pivot) / scale_below <= pivot) {
      scale = scale_below;
    } else {
      std::swap(current, below);
      x.row(i).swap(x.row(i + 1));
    }
    rows[static_cast<std::size_t>(i)] = current;
    if (i + 2 < n) largest = std::max(largest, current.largest());
    if (done) {
      current = {below.next, below.after, T(0)};
      continue;
    }
    const T factor = below.pivot / current.pivot;
    x.row(i + 1) -= factor * x.row(i);
    current = {below.next - factor * current.next, below.after - factor * current.after, T(0)};
  }
  rows[static_cast<std::size_t>(n - 1)] = current;
  largest = std::max(largest, static_cast<double>(std::abs(current.pivot)));
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const UpperRow& u = rows[static_cast<std::size_t>(i)];
    Eigen::Matrix<T, 1, Eigen::Dynamic> row = x.row(i);
    if (i + 1 < n) row -= u.next * x.row(i + 1);
    if (i + 2 < n) row -= u.after * x.row(i + 2);
    const T pivot = safe_pivot<T>(u.pivot, precision.epsilon * largest, precision, row);
    x.row(i) = row * (T(1) / pivot);
  }
}

Status solve(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack s, stack_of(op.name, c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Stack r, stack_of(op.name, c.input(1)));
  ARGOSY_RETURN_IF_ERROR(same_batch(op.name, s, r));
  if (s.rows != 3 || s.columns != r.rows) {
    return invalid_argument(op.name, ": expected diagonals [3, n] and a right-hand side [n, k], got ",
                            c.input(0).shape(), " and ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(1).shape()));
  const bool pivoting = op.attrs.get_bool("partial_pivoting"), perturbing = op.attrs.get_bool("perturb_singular");
  if (perturbing && !pivoting) {
    return invalid_argument("Setting perturb_singular requires also setting partial_pivoting.");
  }
  const Precision precision = precision_of(c.input_dtype(0));
  const std::int64_t n = r.rows, k = r.columns;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(y.elements() == 0 ? 0 : s.count, 8.0 * static_cast<double>(n * k), [&](std::int64_t i) {
      const T* const a = c.input(0).data<T>() + i * 3 * n;
      Map<T> x(y.data<T>() + i * n * k, n, k);
      x = ConstMap<T>(c.input(1).data<T>() + i * n * k, n, k);
      const Tridiagonal<T> matrix{a, a + n, a + 2 * n};
      if (perturbing) {
        eliminate_perturbing<T>(matrix, n, precision, x);
        return ok_status();
      }
      const bool done = pivoting ? eliminate_pivoting<T>(matrix, n, x) : eliminate<T>(matrix, n, x);
      if (!done) x.setConstant(T(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::quiet_NaN()));
      return ok_status();
    });
  });
}

Status multiply(const MatrixOp& op, MatrixCall& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Stack r, stack_of(op.name, c.input(3)));
  for (int i = 0; i < 3; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const Stack s, stack_of(op.name, c.input(i)));
    ARGOSY_RETURN_IF_ERROR(same_batch(op.name, s, r));
    if (s.rows != 1 || s.columns != r.rows) {
      return invalid_argument(op.name, ": each diagonal must have shape [1, ", r.rows, "] at the end, not ",
                              c.input(i).shape());
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, c.output(0, c.input(3).shape()));
  const std::int64_t n = r.rows, k = r.columns;
  return dispatch<Types>(c.dtype(), op.name, [&]<typename T>() {
    return for_each(y.elements() == 0 ? 0 : r.count, 5.0 * static_cast<double>(n * k), [&](std::int64_t i) {
      const T *const above = c.input(0).data<T>() + i * n, *const main = c.input(1).data<T>() + i * n,
                     *const below = c.input(2).data<T>() + i * n;
      const ConstMap<T> x(c.input(3).data<T>() + i * n * k, n, k);
      Map<T> to(y.data<T>() + i * n * k, n, k);
      for (std::int64_t j = 0; j < n; ++j) {
        to.row(j) = main[j] * x.row(j);
        if (j + 1 < n) to.row(j) += above[j] * x.row(j + 1);
        if (j > 0) to.row(j) += below[j] * x.row(j - 1);
      }
      return ok_status();
    });
  });
}

}  // namespace

void add_bands(KernelRegistry& kernels) {
  kernels.add("TridiagonalSolve", "cpu", MatrixKernel<solve>::make);
  kernels.add("TridiagonalMatMul", "cpu", MatrixKernel<multiply>::make);
}

}  // namespace argosy::linalg
