// Kernels: products of CSR matrices with dense ones and with each other.
#include <algorithm>
#include <array>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/csr/csr_matrix.h"

namespace argosy {

namespace {

using csr::Matrix;
using csr::MatrixPtr;
using csr::Place;
using csr::Sizes;

struct Flags {
  bool transpose_a, transpose_b, adjoint_a, adjoint_b;
  bool turned_a() const { return transpose_a || adjoint_a; }
  bool turned_b() const { return transpose_b || adjoint_b; }
};

Result<Flags> flags_of(const AttrMap& attrs) {
  const Flags f{attrs.get_bool("transpose_a"), attrs.get_bool("transpose_b"), attrs.get_bool("adjoint_a"),
                attrs.get_bool("adjoint_b")};
  if (f.transpose_a && f.adjoint_a) return invalid_argument("Only one of adjoint_a and transpose_a may be true.");
  if (f.transpose_b && f.adjoint_b) return invalid_argument("Only one of adjoint_b and transpose_b may be true.");
  return f;
}

Status wrong_inner(const Shape& a, const Shape& b) {
  return invalid_argument("Inner product dimensions of A and B do not agree.  Shapes are: ", a, " vs. ", b);
}

// A batch of dense matrices, perhaps seen as transposed or conjugated.
template <typename T>
struct Dense {
  const T* data;
  std::int64_t rows, columns;  // as stored
  bool turned = false, conjugated = false;
  T operator()(std::int64_t batch, std::int64_t i, std::int64_t k) const {
    const T v = data[batch * rows * columns + (turned ? k * columns + i : i * columns + k)];
    return conjugated ? csr::conjugate(v) : v;
  }
};

// Sizes of a, of b and of the product, checked.
struct Product {
  Sizes a;  // after transposing
  std::int64_t rows = 0, inner = 0, columns = 0;
};
Result<Product> dense_product(const Matrix& a, const Tensor& b, const Flags& f) {
  const int rank = a.sizes().batched ? 3 : 2;
  if (a.dtype() != b.dtype()) {
    return invalid_argument("Input types don't match.  a.dtype == ", dtype_name(a.dtype()),
                            " vs. b.dtype == ", dtype_name(b.dtype()));
  }
  if (b.shape().rank() != rank)
    return invalid_argument("Ranks of a and b must match, saw: ", rank, " vs. ", b.shape().rank(), ".");
  if (rank == 3 && b.shape()[0] != a.sizes().batches) {
    return invalid_argument("Batch sizes of a and b must match, saw: ", a.sizes().batches, " vs. ", b.shape()[0], ".");
  }
  Product p{.a = a.sizes()};
  if (f.turned_a()) std::swap(p.a.rows, p.a.columns);
  p.rows = p.a.rows;
  p.inner = b.shape()[rank - (f.turned_b() ? 1 : 2)];
  p.columns = b.shape()[rank - (f.turned_b() ? 2 : 1)];
  if (p.inner != p.a.columns) {
    return invalid_argument("Inner product dimensions of A and B do not agree. Shapes are: ", a.sizes().shape(),
                            " vs. ", b.shape());
  }
  return p;
}

Status matmul(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr a, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const Flags f, flags_of(attrs));
  const Tensor& b = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Product p, dense_product(*a, b, f));
  const bool turned = attrs.get_bool("transpose_output"), conjugated = attrs.get_bool("conjugate_output");
  if (f.turned_a()) {
    ARGOSY_ASSIGN_OR_RETURN(a, csr::transposed(*a, f.adjoint_a, csr::matrix_memory(c)));
  }
  std::vector<std::int64_t> sizes = {turned ? p.columns : p.rows, turned ? p.rows : p.columns};
  if (a->sizes().batched) sizes.insert(sizes.begin(), p.a.batches);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return dispatch<csr::ValueTypes>(b.dtype(), c.node(), [&]<typename T>() {
    const int rank = b.shape().rank();
    const Dense<T> right{b.data<T>(), b.shape()[rank - 2], b.shape()[rank - 1], f.turned_b(), f.adjoint_b};
    T* const out = y->data<T>();
    const T* const x = a->values().data<T>();
    const std::int64_t work = a->count() * p.columns / std::max<std::int64_t>(1, p.rows) + p.columns + 1;
    parallel_for(p.a.batches * p.rows, std::max<std::int64_t>(1, 16384 / work),
                 [&](std::int64_t from, std::int64_t to) {
                   std::vector<T> row(static_cast<std::size_t>(p.columns));
                   for (std::int64_t r = from; r < to; ++r) {
                     const std::int64_t batch = r / p.rows, i = r % p.rows;
                     std::fill(row.begin(), row.end(), T(0));
                     for (std::int64_t k = a->begin(batch, i); k < a->end(batch, i); ++k) {
                       for (std::int64_t n = 0; n < p.columns; ++n)
                         row[static_cast<std::size_t>(n)] += x[k] * right(batch, a->column(k), n);
                     }
                     T* const first = out + batch * p.rows * p.columns + (turned ? i : i * p.columns);
                     const std::int64_t step = turned ? p.rows : 1;
                     for (std::int64_t n = 0; n < p.columns; ++n) {
                       const T v = row[static_cast<std::size_t>(n)];
                       first[n * step] = conjugated ? csr::conjugate(v) : v;
                     }
                   }
                 });
    return ok_status();
  });
}

// The gradient of the sparse matrix of a product with a dense one, at the matrix's places. For a gradient G of op(A)
// op(B), that of op(A) is G op(B)^H.
Status matmul_gradient(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const MatrixPtr a, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const Flags f, flags_of(attrs));
  const Tensor &b = c.input(1), &g = c.input(2);
  ARGOSY_ASSIGN_OR_RETURN(const Product p, dense_product(*a, b, f));
  const bool turned = attrs.get_bool("transpose_output"), conjugated = attrs.get_bool("conjugate_output");
  const int rank = b.shape().rank();
  const std::int64_t rows = turned ? p.columns : p.rows, columns = turned ? p.rows : p.columns;
  if (g.shape().rank() != rank || (rank == 3 && g.shape()[0] != p.a.batches) || g.shape()[rank - 2] != rows ||
      g.shape()[rank - 1] != columns) {
    return invalid_argument("the gradient must be of the product's shape, [", rows, ",", columns, "] in each of ",
                            p.a.batches, " batches, not ", g.shape());
  }
  const std::vector<Place> places = a->places();
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), a->dtype(), a->sizes(), places));
  ARGOSY_RETURN_IF_ERROR(dispatch<csr::ValueTypes>(b.dtype(), c.node(), [&]<typename T>() {
    const Dense<T> right{b.data<T>(), b.shape()[rank - 2], b.shape()[rank - 1], f.turned_b(), f.adjoint_b};
    const Dense<T> flow{g.data<T>(), rows, columns, turned, conjugated};
    T* const out = y->values().data<T>();
    parallel_for(y->count(), std::max<std::int64_t>(1, 4096 / (p.columns + 1)),
                 [&](std::int64_t from, std::int64_t to) {
                   for (std::int64_t i = from; i < to; ++i) {
                     const Place& at = places[static_cast<std::size_t>(i)];
                     const std::int64_t m = f.turned_a() ? at.column : at.row, k = f.turned_a() ? at.row : at.column;
                     T v(0);
                     for (std::int64_t n = 0; n < p.columns; ++n)
                       v += flow(at.batch, m, n) * csr::conjugate(right(at.batch, k, n));
                     out[i] = f.adjoint_a ? csr::conjugate(v) : v;
                   }
                 });
    return ok_status();
  }));
  return csr::give_matrix(c, 0, std::move(y));
}

// Computes each row as a sum of scaled rows of b, by column (Gustavson, "Two fast algorithms for sparse matrices",
// 1978).
Status sparse_matmul(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr a, csr::input_matrix(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(MatrixPtr b, csr::input_matrix(c, 1));
  ARGOSY_ASSIGN_OR_RETURN(const Flags f, flags_of(attrs));
  const DType dtype = attrs.get_type("type");
  for (const MatrixPtr& m : {a, b}) {
    if (m->dtype() != dtype) {
      return invalid_argument("dtype of input is not equal to 'type': ", dtype_name(m->dtype()), " vs. ",
                              dtype_name(dtype));
    }
  }
  const Shape shape_a = a->sizes().shape(), shape_b = b->sizes().shape();
  if (a->sizes().batched != b->sizes().batched) return wrong_inner(shape_a, shape_b);
  if (a->sizes().batches != b->sizes().batches) {
    return invalid_argument("Batch sizes of A and B do not agree.  Shapes are: ", shape_a, " vs. ", shape_b);
  }
  if (f.turned_a()) {
    ARGOSY_ASSIGN_OR_RETURN(a, csr::transposed(*a, f.adjoint_a, csr::matrix_memory(c)));
  }
  if (f.turned_b()) {
    ARGOSY_ASSIGN_OR_RETURN(b, csr::transposed(*b, f.adjoint_b, csr::matrix_memory(c)));
  }
  if (a->sizes().columns != b->sizes().rows) return wrong_inner(shape_a, shape_b);
  const Sizes sizes{a->sizes().batched, a->sizes().batches, a->sizes().rows, b->sizes().columns};
  ARGOSY_RETURN_IF_ERROR(Shape::make(std::array{sizes.batches, sizes.rows, sizes.columns}).status());
  return dispatch<csr::ValueTypes>(dtype, c.node(), [&]<typename T>() -> Status {
    std::vector<Place> places;
    std::vector<T> values;
    std::vector<std::pair<std::int32_t, T>> row;
    const T *const x = a->values().data<T>(), *const z = b->values().data<T>();
    for (std::int64_t batch = 0; batch < sizes.batches; ++batch) {
      for (std::int64_t i = 0; i < sizes.rows; ++i) {
        row.clear();
        for (std::int64_t k = a->begin(batch, i); k < a->end(batch, i); ++k) {
          const std::int64_t j = a->column(k);
          for (std::int64_t n = b->begin(batch, j); n < b->end(batch, j); ++n)
            row.emplace_back(b->column(n), x[k] * z[n]);
        }
        std::stable_sort(row.begin(), row.end(), [](const auto& l, const auto& r) { return l.first < r.first; });
        for (std::size_t n = 0; n < row.size(); ++n) {
          if (n > 0 && row[n].first == row[n - 1].first) {
            values.back() += row[n].second;
          } else {
            places.push_back({static_cast<std::int32_t>(batch), static_cast<std::int32_t>(i), row[n].first});
            values.push_back(row[n].second);
          }
        }
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(csr::matrix_memory(c), dtype, sizes, places));
    std::copy(values.begin(), values.end(), y->values().data<T>());
    return csr::give_matrix(c, 0, std::move(y));
  });
}

}  // namespace

void add_csr_products(KernelRegistry& kernels) {
  kernels.add("SparseMatrixMatMul", "cpu", AttrKernel<matmul>::make);
  kernels.add("_SparseMatrixMatMulGrad", "cpu", AttrKernel<matmul_gradient>::make);
  kernels.add("SparseMatrixSparseMatMul", "cpu", AttrKernel<sparse_matmul>::make);
}

}  // namespace argosy
