// Kernels: products, sums.
#include <cmath>
#include <complex>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/sparse_product.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

template <typename T>
T conjugate(T v) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return std::conj(v);
  } else {
    return v;
  }
}

// Sums are kept in a wider type.
std::optional<std::uint64_t> matmul_bytes(const KernelInit& init) {
  std::size_t bytes = 0;
  const Status found = dispatch<NumberTypes>(init.output_dtypes[0], "SparseTensorDenseMatMul", [&]<typename T>() {
    bytes = sizeof(scalar::compute_t<T>);
    return ok_status();
  });
  return found.ok() ? bytes_for(init.output_shapes[0], bytes) : 0;
}

// a [m, k] sparse times b [k, n]; indices are int32 or int64 here, and inside.
Status matmul(KernelContext& c, const AttrMap& attrs) {
  const Tensor& indices = c.input(0);
  const Tensor& values = c.input(1);
  const Tensor& b = c.input(3);
  ARGOSY_ASSIGN_OR_RETURN(const SparseProductSizes sizes, check_sparse_product(c, attrs));
  const bool ta = sizes.adjoint_a, tb = sizes.adjoint_b;
  const std::int64_t m = sizes.m, k = sizes.k, n = sizes.n;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {m, n}));
  return dispatch<NumberTypes>(b.dtype(), "SparseTensorDenseMatMul", [&]<typename T>() {
    using S = scalar::compute_t<T>;
    ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(m * n) * sizeof(S)));
    S* const sums = reinterpret_cast<S*>(memory.data());
    std::fill_n(sums, m * n, S(0));
    ARGOSY_RETURN_IF_ERROR(dispatch<IndexTypes>(indices.dtype(), "SparseTensorDenseMatMul", [&]<typename Index>() {
      Poll poll(n > 1024 ? 16 : 1024);
      for (std::int64_t e = 0; e < values.elements(); ++e) {
        poll();
        const std::int64_t row = indices.data<Index>()[2 * e + (ta ? 1 : 0)],
                           at = indices.data<Index>()[2 * e + (ta ? 0 : 1)];
        if (at < 0 || at >= k)
          return invalid_argument("k (", at, ") from index[", e, ",", ta ? 0 : 1, "] out of bounds (>=", k, ")");
        if (row < 0 || row >= m)
          return invalid_argument("m (", row, ") from index[", e, ",", ta ? 1 : 0, "] out of bounds (>=", m, ")");
        const S v = static_cast<S>(ta ? conjugate(values.data<T>()[e]) : values.data<T>()[e]);
        for (std::int64_t j = 0; j < n; ++j) {
          const T other = tb ? conjugate(b.data<T>()[j * k + at]) : b.data<T>()[at * n + j];
          sums[row * n + j] += v * static_cast<S>(other);
        }
      }
      return ok_status();
    }));
    for (std::int64_t i = 0; i < m * n; ++i) y->data<T>()[i] = static_cast<T>(sums[i]);
    return ok_status();
  });
}

Status dense_add(KernelContext& c) {
  const Tensor& indices = c.input(0);
  const Tensor& values = c.input(1);
  const Tensor& b = c.input(3);
  const int rank = b.shape().rank();
  if (indices.shape().rank() != 2 || indices.shape()[1] != rank || values.shape() != Shape{indices.shape()[0]} ||
      c.input(2).shape() != Shape{rank}) {
    return invalid_argument("SparseTensorDenseAdd: indices ", indices.shape(), ", values ", values.shape(),
                            " and a shape of ", c.input(2).shape(), " do not go with ", b.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape a, to_shape(c.input(2), "SparseTensorDenseAdd: a_shape"));
  if (a != b.shape()) return invalid_argument("SparseTensorDenseAdd: dimensions differ: ", a, " and ", b.shape());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, b.shape(), {3}));
  if (y->raw() != b.raw()) copy_elements(*y, b);
  const Ints strides = row_major(a.sizes());
  return dispatch<NumberTypes>(b.dtype(), "SparseTensorDenseAdd", [&]<typename T>() {
    return dispatch<IndexTypes>(indices.dtype(), "SparseTensorDenseAdd", [&]<typename Index>() {
      for (std::int64_t e = 0; e < values.elements(); ++e) {
        std::int64_t at = 0;
        for (int k = 0; k < rank; ++k) {
          const std::int64_t index = indices.data<Index>()[e * rank + k];
          if (index < 0 || index >= a[k])
            return invalid_argument("indices[", e, "] is out of bounds: ", index, " of ", a);
          at += index * strides[k];
        }
        T& to = y->data<T>()[at];
        to = T(to + values.data<T>()[e]);
      }
      return ok_status();
    });
  });
}

// Entries of two sorted tensors of one shape, side by side: fn(a or -1, b or -1) in order of the indices.
template <typename Fn>
void merge(const Coo& a, const Coo& b, Fn&& fn) {
  std::int64_t i = 0, j = 0;
  while (i < a.count || j < b.count) {
    if (j == b.count || (i < a.count && before(a.index(i), b.index(j)))) {
      fn(i++, std::int64_t{-1});
    } else if (i == a.count || before(b.index(j), a.index(i))) {
      fn(std::int64_t{-1}, j++);
    } else {
      fn(i++, j++);
    }
  }
}

Result<std::pair<Coo, Coo>> read_two(const KernelContext& c, std::string_view op) {
  ARGOSY_ASSIGN_OR_RETURN(Coo a, read_coo(c.input(0), c.input(1), c.input(2), op));
  ARGOSY_ASSIGN_OR_RETURN(Coo b, read_coo(c.input(3), c.input(4), c.input(5), op));
  if (a.shape != b.shape) return invalid_argument(op, ": operands' shapes do not match: ", a.shape, " and ", b.shape);
  return std::pair(std::move(a), std::move(b));
}

struct Merged {
  std::vector<std::int64_t> indices;
  std::int64_t count = 0;
  void take(const Coo& from, std::int64_t i) {
    indices.insert(indices.end(), from.at(i), from.at(i) + from.rank);
    ++count;
  }
};

template <typename T>
double magnitude(T v) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return static_cast<double>(std::abs(v));
  } else {
    return std::abs(static_cast<double>(v));
  }
}

Status add(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto both, read_two(c, "SparseAdd"));
  const auto& [a, b] = both;
  if (c.input(6).shape().rank() != 0)
    return invalid_argument("The magnitude threshold must be a scalar, not of shape ", c.input(6).shape());
  double least = 0;
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(c.input(6).dtype(), "SparseAdd", [&]<typename T>() {
    least = static_cast<double>(*c.input(6).data<T>());
    return ok_status();
  }));
  return dispatch<NumberTypes>(a.values.dtype(), "SparseAdd", [&]<typename T>() {
    Merged merged;
    std::vector<T> sums;
    merge(a, b, [&](std::int64_t i, std::int64_t j) {
      const T sum = i < 0   ? b.values.data<T>()[j]
                    : j < 0 ? a.values.data<T>()[i]
                            : T(a.values.data<T>()[i] + b.values.data<T>()[j]);
      if (!(least <= magnitude(sum))) return;
      merged.take(i < 0 ? b : a, i < 0 ? j : i);
      sums.push_back(sum);
    });
    ARGOSY_RETURN_IF_ERROR(put_ints(c, 0, merged.indices, {merged.count, a.rank}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {merged.count}));
    std::copy(sums.begin(), sums.end(), values->data<T>());
    return put_shape(c, 2, a.shape);
  });
}

Status add_grad(KernelContext& c) {
  const Tensor& dy = c.input(0);
  for (int i = 1; i < 4; ++i) {
    if (c.input(i).shape().rank() != 2 || c.input(i).shape()[1] != c.input(3).shape().back()) {
      return invalid_argument("SparseAddGrad: indices must be matrices of one rank, not ", c.input(i).shape(), " and ",
                              c.input(3).shape());
    }
  }
  const Tensor& sums = c.input(3);
  const std::int64_t rank = sums.shape()[1], count = sums.shape()[0];
  if (dy.shape() != Shape{count})
    return invalid_argument("SparseAddGrad: ", count, " sums for a gradient of shape ", dy.shape());
  for (int which = 0; which < 2; ++which) {
    const Tensor& indices = c.input(1 + which);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(which, {indices.shape()[0]}));
    std::memset(dx->raw(), 0, dx->bytes());
    const auto row = [&](const Tensor& t, std::int64_t i) {
      return std::span<const std::int64_t>(t.data<std::int64_t>() + i * rank, static_cast<std::size_t>(rank));
    };
    for (std::int64_t i = 0, k = 0; i < indices.shape()[0]; ++i) {
      while (k < count && before(row(sums, k), row(indices, i))) ++k;
      if (k < count && std::ranges::equal(row(sums, k), row(indices, i))) copy_element(*dx, i, dy, k);
    }
  }
  return ok_status();
}

template <bool largest>
Status extreme(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto both, read_two(c, largest ? "SparseSparseMaximum" : "SparseSparseMinimum"));
  const auto& [a, b] = both;
  return dispatch<NumberTypes>(a.values.dtype(), "SparseSparseMaximum", [&]<typename T>() -> Status {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      return unsupported_dtype("SparseSparseMinimum", a.values.dtype());
    } else {
      Merged merged;
      std::vector<T> chosen;
      merge(a, b, [&](std::int64_t i, std::int64_t j) {
        const T p = i < 0 ? T(0) : a.values.data<T>()[i], q = j < 0 ? T(0) : b.values.data<T>()[j];
        chosen.push_back(largest == (p < q) ? q : p);
        merged.take(i < 0 ? b : a, i < 0 ? j : i);
      });
      ARGOSY_RETURN_IF_ERROR(put_ints(c, 0, merged.indices, {merged.count, a.rank}));
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {merged.count}));
      std::copy(chosen.begin(), chosen.end(), values->data<T>());
      return ok_status();
    }
  });
}

enum class Cwise { kAdd, kMul, kDiv };

template <Cwise what>
Status cwise(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseDenseCwise"));
  const Tensor& dense = c.input(3);
  const int added = x.rank - dense.shape().rank();
  if (added < 0)
    return invalid_argument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: ",
                            x.shape, " vs. ", dense.shape());
  const Ints own = row_major(dense.shape().sizes());
  Ints strides = Ints::filled(x.rank, 0);
  for (int k = added; k < x.rank; ++k) {
    const std::int64_t size = dense.shape()[k - added];
    if (size != 1 && size != x.shape[k]) {
      return invalid_argument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: ",
                              x.shape, " vs. ", dense.shape());
    }
    strides[k] = size == 1 ? 0 : own[k - added];
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {x.count}, {1}));
  return dispatch<NumberTypes>(dense.dtype(), "SparseDenseCwise", [&]<typename T>() {
    for (std::int64_t i = 0; i < x.count; ++i) {
      const T p = x.values.data<T>()[i], q = dense.data<T>()[place(x.index(i), strides)];
      T& to = y->data<T>()[i];
      if constexpr (what == Cwise::kAdd) {
        to = T(p + q);
      } else if constexpr (what == Cwise::kMul) {
        to = T(p * q);
      } else if constexpr (std::is_integral_v<T>) {
        if (q == 0) return invalid_argument("SparseDenseCwiseDiv: division by zero of integers");
        to = q == T(-1) ? T(0 - static_cast<std::make_unsigned_t<T>>(p)) : T(p / q);
      } else {
        to = T(p / q);
      }
    }
    return ok_status();
  });
}

// Dense matrices of float32 or bfloat16; which of them holds zeros does not change the product.
Status dense_matmul(KernelContext& c, const AttrMap& attrs) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  if (a.shape().rank() != 2 || b.shape().rank() != 2)
    return invalid_argument("a and b must be matrices, not of shapes ", a.shape(), " and ", b.shape());
  const bool ta = attrs.get_bool("transpose_a"), tb = attrs.get_bool("transpose_b");
  const std::int64_t m = a.shape()[ta ? 1 : 0], k = a.shape()[ta ? 0 : 1], n = b.shape()[tb ? 0 : 1];
  if (b.shape()[tb ? 1 : 0] != k)
    return invalid_argument("Matrix size incompatible: a: ", a.shape(), ", b: ", b.shape());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {m, n}));
  std::fill_n(y->data<float>(), m * n, 0.0f);
  return dispatch<TypeList<float, bfloat16>>(a.dtype(), "SparseMatMul", [&]<typename A>() {
    return dispatch<TypeList<float, bfloat16>>(b.dtype(), "SparseMatMul", [&]<typename B>() {
      Poll poll(256);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t l = 0; l < k; ++l) {
          poll();
          const auto v = static_cast<float>(a.data<A>()[ta ? l * m + i : i * k + l]);
          for (std::int64_t j = 0; j < n; ++j) {
            y->data<float>()[i * n + j] += v * static_cast<float>(b.data<B>()[tb ? j * k + l : l * n + j]);
          }
        }
      }
      return ok_status();
    });
  });
}

}  // namespace

void add_kernels_cpu_math(KernelRegistry& kernels) {
  kernels.add("SparseTensorDenseMatMul", "cpu", with_workspace<AttrKernel<matmul>::make, matmul_bytes>);
  kernels.add("SparseTensorDenseAdd", "cpu", dense_add);
  kernels.add("SparseAdd", "cpu", add);
  kernels.add("SparseAddGrad", "cpu", add_grad);
  kernels.add("SparseSparseMaximum", "cpu", extreme<true>);
  kernels.add("SparseSparseMinimum", "cpu", extreme<false>);
  kernels.add("SparseDenseCwiseAdd", "cpu", cwise<Cwise::kAdd>);
  kernels.add("SparseDenseCwiseMul", "cpu", cwise<Cwise::kMul>);
  kernels.add("SparseDenseCwiseDiv", "cpu", cwise<Cwise::kDiv>);
  kernels.add("SparseMatMul", "cpu", AttrKernel<dense_matmul>::make);
}

}  // namespace argosy::sparse
