// Kernels of counts by row. They first find the row of the result for each value, whatever form the values have.
#include <algorithm>
#include <array>
#include <vector>

#include "argosy/ops/attr_kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

using Counted = TypeList<std::int32_t, std::int64_t, float, double>;

// Values, and the row of each one.
struct Rows {
  std::int64_t count = 0;            // of rows
  bool matrix = true;                // else the result has no axis of rows
  std::vector<std::int64_t> row_of;  // by value; empty: all are in row 0, or `width` in each
  std::int64_t width = 0;

  std::int64_t row(std::int64_t i) const {
    if (!row_of.empty()) return row_of[static_cast<std::size_t>(i)];
    return width > 0 ? i / width : 0;
  }
};

// Checks a sparse tensor whose indices [n, rank] have the row in their first column. Messages are TensorFlow's, which
// has two sets of them.
Status check_parts(const Tensor& indices, const Tensor& values, const Tensor& sizes, bool counts) {
  if (indices.shape().rank() != 2)
    return invalid_argument("Input indices must be a 2-dimensional tensor. Got: ", indices.shape());
  if (values.shape().rank() != 1) return invalid_argument("Input values must be a vector. Got: ", values.shape());
  if (sizes.shape().rank() != 1) return invalid_argument("Input shape must be a vector. Got: ", sizes.shape());
  const std::int64_t n = indices.shape()[0], rank = indices.shape()[1];
  if (values.elements() != n) {
    if (counts) {
      return invalid_argument("Number of values must match first dimension of indices.Got ", values.elements(),
                              " values, indices shape: ", indices.shape());
    }
    return invalid_argument("Number of elements in indices (", n, ") and values (", values.elements(),
                            ") do not match");
  }
  if (sizes.elements() != rank) {
    if (counts) {
      return invalid_argument("Number of dimensions must match second dimension of indices.Got ", sizes.elements(),
                              " dimensions, indices shape: ", indices.shape());
    }
    return invalid_argument("Index rank (", rank, ") and shape rank (", sizes.elements(), ") do not match");
  }
  if (rank == 0) return invalid_argument("The shape argument requires at least one element.");
  return ok_status();
}

Result<Rows> sparse_rows(const Tensor& indices, const Tensor& values, const Tensor& sizes, bool counts) {
  ARGOSY_RETURN_IF_ERROR(check_parts(indices, values, sizes, counts));
  const std::int64_t n = indices.shape()[0], rank = indices.shape()[1];
  const auto* const size = sizes.data<std::int64_t>();
  const auto* at = indices.data<std::int64_t>();
  Rows rows{.count = rank == 1 ? 1 : size[0], .matrix = rank > 1};
  if (rows.count < 0) return invalid_argument("Expected shape dimensions to be non-negative, got ", rows.count);
  for (std::int64_t i = 0; i < n; ++i, at += rank) {
    for (std::int64_t k = 0; k < rank; ++k) {
      if (at[k] >= 0 && at[k] < size[k]) continue;
      if (counts) {
        return invalid_argument("Invalid index value at ", i, ": dimension ", k, " has value ", at[k],
                                " which is not in [0, ", size[k], ") (as given by dense shape ", sizes, ")");
      }
      return invalid_argument("Sparse index tuple indices[", i, ", :] = [",
                              str_join(std::span(at, static_cast<std::size_t>(rank)), ", "),
                              "] is out of bounds for dense_shape ", sizes);
    }
    if (rank > 1) rows.row_of.push_back(at[0]);
  }
  return rows;
}

Result<Rows> ragged_rows(const Tensor& splits, const Tensor& values, bool counts) {
  if (splits.shape().rank() != 1)
    return invalid_argument("Splits must be a 1-dimensional tensor. Got: ", splits.shape());
  if (values.shape().rank() != 1) return invalid_argument("Input values must be a vector. Got: ", values.shape());
  const std::span<const std::int64_t> s = splits.values<std::int64_t>();
  if (counts && s.size() < 2) return invalid_argument("Must provide at least 2 elements for the splits argument");
  if (s.empty()) return invalid_argument("Splits must be non-empty");
  if (s[0] != 0) return invalid_argument("Splits must start with 0, not with ", s[0]);
  if (s.back() != values.elements()) {
    return invalid_argument("Splits must end with the number of values, got ", s.back(), " instead of ",
                            values.elements());
  }
  // Splits are checked before any row is counted, so that none is past the values.
  if (const auto lower = std::is_sorted_until(s.begin(), s.end()); lower != s.end()) {
    return invalid_argument("Splits must not descend: ", *lower, " after ", *(lower - 1));
  }
  Rows rows{.count = static_cast<std::int64_t>(s.size()) - 1};
  for (std::size_t k = 0; k + 1 < s.size(); ++k) {
    rows.row_of.insert(rows.row_of.end(), static_cast<std::size_t>(s[k + 1] - s[k]), static_cast<std::int64_t>(k));
  }
  return rows;
}

Result<Rows> dense_rows(const Tensor& values) {
  const Shape& shape = values.shape();
  if (shape.rank() != 1 && shape.rank() != 2)
    return invalid_argument("Input must be a 1 or 2-dimensional tensor. Got: ", shape);
  if (shape.rank() == 1) return Rows{.count = 1, .matrix = false};
  return Rows{.count = shape[0], .width = shape[1]};
}

// --- as a dense matrix -----------------------------------------------------------------------------------------------

Status dense(KernelContext& c, const Rows& rows, const Tensor& values, int size_at, bool binary) {
  const Tensor& weights = c.input(size_at + 1);
  if (c.input(size_at).shape().rank() != 0)
    return invalid_argument("Shape must be rank 0 but is rank ", c.input(size_at).shape().rank(), ": size");
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, to_int64(c.input(size_at), "size"));
  if (size < 0) return invalid_argument("size (", size, ") must be non-negative");
  if (weights.elements() > 0 && weights.elements() != values.elements()) {
    return invalid_argument(
        "`weights` must be the same shape as `values` or a length-0 `Tensor`, in which case it acts as "
        "all weights equal to 1. Received ",
        weights.shape(), " for ", values.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          rows.matrix ? Shape::make(std::array{rows.count, size}) : Shape::make(std::array{size}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return dispatch<IndexTypes>(values.dtype(), c.node(), [&]<typename V>() {
    return dispatch<Counted>(y->dtype(), c.node(), [&]<typename T>() -> Status {
      std::fill_n(y->data<T>(), y->elements(), T(0));
      const T* const w = weights.elements() > 0 ? weights.data<T>() : nullptr;
      for (std::int64_t i = 0; i < values.elements(); ++i) {
        const std::int64_t value = values.data<V>()[i];
        if (value < 0) return invalid_argument("Input must be non-negative: value ", i, " is ", value);
        if (value >= size) continue;
        T& bin = y->data<T>()[rows.row(i) * size + value];
        bin = binary ? T(1) : static_cast<T>(bin + (w != nullptr ? w[i] : T(1)));
      }
      return ok_status();
    });
  });
}

Status sparse_bincount(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Rows rows, sparse_rows(c.input(0), c.input(1), c.input(2), false));
  return dense(c, rows, c.input(1), 3, attrs.get_bool("binary_output"));
}

Status ragged_bincount(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Rows rows, ragged_rows(c.input(0), c.input(1), false));
  return dense(c, rows, c.input(1), 2, attrs.get_bool("binary_output"));
}

// --- as a sparse matrix ----------------------------------------------------------------------------------------------

template <typename T>
struct Count {
  std::int64_t row, value;
  T weight;
};

// Writes one entry for each row and distinct value, both ascending. Equal values are added in their order.
template <typename T>
std::vector<Count<T>> added_up(std::vector<Count<T>> all, bool binary) {
  std::stable_sort(all.begin(), all.end(), [](const Count<T>& a, const Count<T>& b) {
    return a.row != b.row ? a.row < b.row : a.value < b.value;
  });
  std::size_t last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].row == all[last].row && all[i].value == all[last].value) {
      if (!binary) all[last].weight = static_cast<T>(all[last].weight + all[i].weight);
      continue;
    }
    if (i > 0) ++last;
    all[last] = all[i];
  }
  if (!all.empty()) all.resize(last + 1);
  return all;
}

template <typename V, typename T>
Status put_counts(KernelContext& c, const Rows& rows, const Tensor& values, const Tensor& weights,
                  const AttrMap& attrs) {
  const bool binary = attrs.get_bool("binary_output");
  const std::int64_t least = attrs.get_int("minlength"), most = attrs.get_int("maxlength");
  const T* const w = weights.elements() > 0 && !binary ? weights.data<T>() : nullptr;
  std::int64_t largest = 0;
  std::vector<Count<T>> all;
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const std::int64_t value = values.data<V>()[i];
    if (value < 0) return invalid_argument("Input values must all be non-negative: value ", i, " is ", value);
    if (most >= 0 && value >= most) continue;
    largest = std::max(largest, value);
    all.push_back({rows.row(i), value, w != nullptr ? w[i] : T(1)});
  }
  if (most < 0 && largest == std::numeric_limits<std::int64_t>::max())
    return invalid_argument("a value of ", largest, " leaves no room for the number of columns");
  const std::int64_t width = most >= 0 ? most : std::max(largest + 1, least);
  const std::vector<Count<T>> counts = added_up(std::move(all), binary);
  const auto n = static_cast<std::int64_t>(counts.size());
  const std::int64_t rank = rows.matrix ? 2 : 1;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {n, rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const found, c.output(1, {n}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const sizes, c.output(2, {rank}));
  auto* at = indices->data<std::int64_t>();
  T* to = found->data<T>();
  for (const Count<T>& count : counts) {
    if (rows.matrix) *at++ = count.row;
    *at++ = count.value;
    *to++ = count.weight;
  }
  if (rows.matrix) sizes->data<std::int64_t>()[0] = rows.count;
  sizes->data<std::int64_t>()[rank - 1] = width;
  return ok_status();
}

Status put_counts(KernelContext& c, const Rows& rows, const Tensor& values, const AttrMap& attrs, const char* what) {
  const Tensor& weights = c.input(c.num_inputs() - 1);
  if (weights.elements() > 0 && weights.shape() != values.shape()) {
    return invalid_argument("Weights and ", what, " must have the same shape. Weight shape: ", weights.shape(), "; ",
                            what, " shape: ", values.shape());
  }
  return dispatch<IndexTypes>(values.dtype(), c.node(), [&]<typename V>() {
    return dispatch<Counted>(c.output_dtype(1), c.node(),
                             [&]<typename T>() { return put_counts<V, T>(c, rows, values, weights, attrs); });
  });
}

Status dense_counts(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Rows rows, dense_rows(c.input(0)));
  return put_counts(c, rows, c.input(0), attrs, "data");
}

Status sparse_counts(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Rows rows, sparse_rows(c.input(0), c.input(1), c.input(2), true));
  return put_counts(c, rows, c.input(1), attrs, "values");
}

Status ragged_counts(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Rows rows, ragged_rows(c.input(0), c.input(1), true));
  return put_counts(c, rows, c.input(1), attrs, "values");
}

}  // namespace

void add_kernels_cpu_counting(KernelRegistry& kernels) {
  kernels.add("SparseBincount", "cpu", AttrKernel<sparse_bincount>::make);
  kernels.add("RaggedBincount", "cpu", AttrKernel<ragged_bincount>::make);
  kernels.add("DenseCountSparseOutput", "cpu", AttrKernel<dense_counts>::make);
  kernels.add("SparseCountSparseOutput", "cpu", AttrKernel<sparse_counts>::make);
  kernels.add("RaggedCountSparseOutput", "cpu", AttrKernel<ragged_counts>::make);
}

}  // namespace argosy
