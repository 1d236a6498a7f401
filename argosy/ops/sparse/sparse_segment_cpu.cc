// Kernels: rows that indices choose, by ascending segment.
#include <cmath>
#include <map>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

enum class How { kSum, kMean, kSqrtN };

struct Chosen {
  Ints rows, ids;
};
Result<Chosen> read_chosen(const KernelContext& c) {
  if (c.input(1).shape().rank() != 1 || c.input(2).shape() != c.input(1).shape()) {
    return invalid_argument("indices and segment_ids must be vectors of one length, not of shapes ", c.input(1).shape(),
                            " and ", c.input(2).shape());
  }
  if (c.input(0).shape().rank() < 1) return invalid_argument("input must be at least rank 1");
  Chosen chosen;
  ARGOSY_ASSIGN_OR_RETURN(chosen.rows, read_ints(c.input(1), "indices"));
  ARGOSY_ASSIGN_OR_RETURN(chosen.ids, read_ints(c.input(2), "segment_ids"));
  return chosen;
}

// What each of `count` rows of a segment counts for.
double weight(How how, std::int64_t count) {
  const auto n = static_cast<double>(std::max<std::int64_t>(count, 1));
  return how == How::kSum ? 1.0 : how == How::kMean ? 1.0 / n : 1.0 / std::sqrt(n);
}

template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, T, double>;
template <typename T>
Sum<T> load(T v) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return v;
  } else {
    return static_cast<double>(static_cast<float>(v));
  }
}
template <typename T>
T store(Sum<T> v) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return static_cast<T>(v);
  } else {
    return T(static_cast<float>(v));
  }
}

Result<Shape> rows_like(const Shape& x, std::int64_t rows) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes[0] = rows;
  return Shape::make(sizes);
}

template <How how>
Status segment(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Chosen chosen, read_chosen(c));
  const int n = chosen.ids.size();
  for (int i = 0; i < n; ++i) {
    if (chosen.ids[i] < (i > 0 ? chosen.ids[i - 1] : 0)) {
      return invalid_argument(i == 0 ? "segment ids must be >= 0" : "segment ids are not increasing");
    }
    if (chosen.rows[i] < 0 || chosen.rows[i] >= x.shape()[0]) {
      return invalid_argument("Bad: indices[", i, "] == ", chosen.rows[i], " out of range [0, ", x.shape()[0], ")");
    }
  }
  std::int64_t segments = n > 0 ? chosen.ids[n - 1] + 1 : 0;
  if (c.num_inputs() > 3) {
    const std::int64_t least = segments;
    if (c.input(3).shape().rank() != 0)
      return invalid_argument("num_segments should be a scalar, not of shape ", c.input(3).shape());
    ARGOSY_ASSIGN_OR_RETURN(segments, read_int(c.input(3), "num_segments"));
    if (segments < least) return invalid_argument("segment ids must be < num_segments: ", least - 1, " of ", segments);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, rows_like(x.shape(), segments));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  std::memset(y->raw(), 0, y->bytes());
  const std::int64_t width = x.shape()[0] > 0 ? x.elements() / x.shape()[0] : 0;
  return dispatch<RealTypes>(x.dtype(), "SparseSegment", [&]<typename T>() {
    std::vector<Sum<T>> sums(static_cast<std::size_t>(width));
    for (int begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && chosen.ids[end] == chosen.ids[begin]) ++end;
      std::fill(sums.begin(), sums.end(), Sum<T>(0));
      for (int i = begin; i < end; ++i) {
        const T* const from = x.data<T>() + chosen.rows[i] * width;
        for (std::int64_t k = 0; k < width; ++k) sums[static_cast<std::size_t>(k)] += load(from[k]);
      }
      const double scale = weight(how, end - begin);
      T* const to = y->data<T>() + chosen.ids[begin] * width;
      for (std::int64_t k = 0; k < width; ++k) {
        if constexpr (std::is_integral_v<T>) {
          to[k] = sums[static_cast<std::size_t>(k)];
        } else {
          to[k] = store<T>(sums[static_cast<std::size_t>(k)] * scale);
        }
      }
    }
    return ok_status();
  });
}

// Row i of the result sums what flows back into the segments that chose it; `compact`: only rows that were chosen, and
// which they are.
template <How how, bool compact>
Status segment_grad(KernelContext& c) {
  const Tensor& dy = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Chosen chosen, read_chosen(c));
  if (c.input(3).shape().rank() != 0)
    return invalid_argument("output_dim0 should be a scalar, not of shape ", c.input(3).shape());
  const std::int64_t rows = *c.input(3).data<std::int32_t>();
  if (rows < 0) return invalid_argument("output_dim0 must be non-negative, not ", rows);
  const int n = chosen.ids.size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dy.shape()[0]), 0);
  for (int i = 0; i < n; ++i) {
    if (chosen.ids[i] < 0 || chosen.ids[i] >= dy.shape()[0]) {
      return invalid_argument("Segment id ", chosen.ids[i], " out of range [0, ", dy.shape()[0], ")");
    }
    if (chosen.rows[i] < 0 || chosen.rows[i] >= rows) {
      return invalid_argument("Index ", chosen.rows[i], " out of range of output_dim0 ", rows);
    }
    ++counts[static_cast<std::size_t>(chosen.ids[i])];
  }
  std::map<std::int64_t, std::int64_t> place;  // of every row that was chosen, in the compact result
  for (int i = 0; compact && i < n; ++i) place[chosen.rows[i]] = 0;
  std::int64_t next = 0;
  for (auto& [row, at] : place) at = next++;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, rows_like(dy.shape(), compact ? next : rows));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  if constexpr (compact) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const which, c.output(1, {next}));
    ARGOSY_RETURN_IF_ERROR(dispatch<IndexTypes>(which->dtype(), "sorted_unique_indices", [&]<typename Index>() {
      for (const auto& [row, at] : place) which->data<Index>()[at] = static_cast<Index>(row);
      return ok_status();
    }));
  }
  const std::int64_t width = dy.shape()[0] > 0 ? dy.elements() / dy.shape()[0] : 0;
  ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(shape.elements()) * sizeof(double)));
  auto* const sums = reinterpret_cast<double*>(memory.data());
  std::fill_n(sums, shape.elements(), 0.0);
  return dispatch<FloatTypes>(dy.dtype(), "SparseSegmentGrad", [&]<typename T>() {
    for (int i = 0; i < n; ++i) {
      const double scale = weight(how, counts[static_cast<std::size_t>(chosen.ids[i])]);
      const T* const from = dy.data<T>() + chosen.ids[i] * width;
      double* const to = sums + (compact ? place[chosen.rows[i]] : chosen.rows[i]) * width;
      for (std::int64_t k = 0; k < width; ++k) to[k] += load(from[k]) * scale;
    }
    for (std::int64_t i = 0; i < shape.elements(); ++i) dx->data<T>()[i] = store<T>(sums[i]);
    return ok_status();
  });
}

template <How how>
void add(KernelRegistry& kernels, const std::string& op) {
  kernels.add(op, "cpu", segment<how>);
  kernels.add(op + "WithNumSegments", "cpu", segment<how>);
  kernels.add(op + "Grad", "cpu", with_workspace<segment_grad<how, false>, for_elements_of_output<0, sizeof(double)>>);
  kernels.add(op + "GradV2", "cpu", with_workspace<segment_grad<how, true>, for_elements_of_output<0, sizeof(double)>>);
}

}  // namespace

void add_kernels_cpu_segment(KernelRegistry& kernels) {
  add<How::kSum>(kernels, "SparseSegmentSum");
  add<How::kMean>(kernels, "SparseSegmentMean");
  add<How::kSqrtN>(kernels, "SparseSegmentSqrtN");
}

}  // namespace argosy::sparse
