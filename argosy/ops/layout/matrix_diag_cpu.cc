#include "argosy/base/checked.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

// A tensor of rank 2 or more as a batch of matrices.
struct Matrices {
  std::int64_t batch = 1, rows, columns;
  explicit Matrices(const Shape& shape) : rows(shape[shape.rank() - 2]), columns(shape.back()) {
    for (int i = 0; i < shape.rank() - 2; ++i) batch *= shape[i];
  }
  std::int64_t diagonal() const { return std::min(rows, columns); }
  // Along the diagonals: batch by batch, element by element.
  Region region(bool to_matrices) const {
    Region r;
    const std::int64_t n = diagonal();
    r.add(batch, to_matrices ? rows * columns : n, to_matrices ? n : rows * columns);
    r.add(n, to_matrices ? columns + 1 : 1, to_matrices ? 1 : columns + 1);
    return r;
  }
};

Status matrix_diag(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() < 1) return invalid_argument("MatrixDiag: the diagonal must have rank 1 or more");
  Ints sizes(x.shape().sizes());
  sizes.push_back(sizes.back());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  fill_zeros(*y);
  copy_region(*y, 0, x, 0, Matrices(shape).region(true));
  return ok_status();
}

Result<Shape> diagonals_of(const Tensor& x, std::string_view op) {
  if (x.shape().rank() < 2) {
    return invalid_argument(op, ": the input must have rank 2 or more, not shape ", x.shape());
  }
  Ints sizes(x.shape().sizes());
  sizes.pop_back();
  sizes[sizes.size() - 1] = Matrices(x.shape()).diagonal();
  return Shape(sizes.span());
}

Status matrix_diag_part(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, diagonals_of(x, "MatrixDiagPart"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  copy_region(*y, 0, x, 0, Matrices(x.shape()).region(false));
  return ok_status();
}

Status matrix_set_diag(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, diagonals_of(x, "MatrixSetDiag"));
  if (c.input(1).shape() != shape) {
    return invalid_argument("MatrixSetDiag: diagonals of shape ", c.input(1).shape(), " for an input of shape ",
                            x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (y->raw() != x.raw()) copy_span(*y, 0, x, 0, x.elements());
  copy_region(*y, 0, c.input(1), 0, Matrices(x.shape()).region(true));
  return ok_status();
}

Status matrix_band_part(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() < 2) {
    return invalid_argument("MatrixBandPart: the input must have rank 2 or more, not shape ", x.shape());
  }
  if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
    return invalid_argument("MatrixBandPart: num_lower and num_upper must be scalars, not of shape ",
                            c.input(1).shape(), " and ", c.input(2).shape());
  }
  const Matrices m(x.shape());
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t lower, read_int(c.input(1), "MatrixBandPart: num_lower"));
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t upper, read_int(c.input(2), "MatrixBandPart: num_upper"));
  if (lower > m.rows || upper > m.columns) {
    return invalid_argument("MatrixBandPart: num_lower ", lower, " and num_upper ", upper, " for an input of shape ",
                            x.shape());
  }
  if (lower < 0) lower = m.rows;
  if (upper < 0) upper = m.columns;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (x.elements() == 0) return ok_status();
  dispatch_moved(x.dtype(), [&]<typename T>() {
    const T* const from = x.raw_as<T>();
    T* const to = y->raw_as<T>();
    parallel_for(m.batch * m.rows, std::max<std::int64_t>(1, 16384 / m.columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const std::int64_t i = row % m.rows;
                     const std::int64_t first = std::clamp<std::int64_t>(i - lower, 0, m.columns);
                     const std::int64_t last = std::clamp<std::int64_t>(i + upper + 1, first, m.columns);
                     T* const t = to + row * m.columns;
                     const T* const f = from + row * m.columns;
                     std::fill(t, t + first, T{});
                     std::copy(f + first, f + last, t + first);
                     std::fill(t + last, t + m.columns, T{});
                   }
                 });
  });
  return ok_status();
}

Status diag(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() < 1) return invalid_argument("Diag: the diagonal must have rank 1 or more");
  Ints sizes(x.shape().sizes());
  sizes.append(x.shape().sizes());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  fill_zeros(*y);
  copy_region(*y, 0, x, 0, {{x.elements()}, {x.elements() + 1}, {1}});
  return ok_status();
}

Status diag_part(KernelContext& c) {
  const Tensor& x = c.input(0);
  const auto sizes = x.shape().sizes();
  const auto half = sizes.size() / 2;
  if (sizes.empty() || sizes.size() % 2 != 0 ||
      !std::equal(sizes.begin(), sizes.begin() + half, sizes.begin() + half)) {
    return invalid_argument("DiagPart: the two halves of the shape must be equal, not ", x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(sizes.first(half))));
  copy_region(*y, 0, x, 0, {{y->elements()}, {1}, {y->elements() + 1}});
  return ok_status();
}

}  // namespace

void add_diagonals(KernelRegistry& kernels) {
  kernels.add("MatrixDiag", "cpu", matrix_diag);
  kernels.add("MatrixDiagPart", "cpu", matrix_diag_part);
  kernels.add("MatrixSetDiag", "cpu", matrix_set_diag);
  kernels.add("MatrixBandPart", "cpu", matrix_band_part);
  kernels.add("Diag", "cpu", diag);
  kernels.add("DiagPart", "cpu", diag_part);
}

}  // namespace argosy
