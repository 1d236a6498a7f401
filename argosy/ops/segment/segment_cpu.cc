#include <algorithm>
#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/elementwise/functions/functors.h"

namespace argosy {

void add_kernels_cpu_bincount(KernelRegistry& kernels);

namespace {

struct Sum {
  static constexpr bool kMean = false;
  template <typename S>
  static S empty() {
    return S(0);
  }
  template <typename S>
  static S join(S sum, S x) {
    return scalar::Add::call(sum, x);
  }
};
struct Mean : Sum {
  static constexpr bool kMean = true;
};
struct Prod {
  static constexpr bool kMean = false;
  template <typename S>
  static S empty() {
    return S(1);
  }
  template <typename S>
  static S join(S sum, S x) {
    return scalar::Mul::call(sum, x);
  }
};
template <bool largest>
struct Extreme {
  static constexpr bool kMean = false;
  template <typename S>
  static S empty() {
    return largest ? std::numeric_limits<S>::lowest() : std::numeric_limits<S>::max();
  }
  template <typename S>
  static S join(S sum, S x) {
    // A NaN takes the place of what came before it, and gives way to what comes after it.
    return largest ? (sum > x ? sum : x) : (sum < x ? sum : x);
  }
};

// What folds of sorted rows begin with: the extreme of an infinity alone is that infinity.
template <bool largest>
struct SortedExtreme : Extreme<largest> {
  template <typename S>
  static S empty() {
    if constexpr (!std::numeric_limits<S>::has_infinity) {
      return Extreme<largest>::template empty<S>();
    } else {
      return largest ? -std::numeric_limits<S>::infinity() : std::numeric_limits<S>::infinity();
    }
  }
};

// What the ids say, checked: rows of data, elements of each.
struct Rows {
  std::vector<std::int64_t> ids;  // negative: none
  std::int64_t width = 1;
  std::int64_t segments = 0;
};

// Folds rows into y, which starts with `start`; columns are shared out among cores, so that no two meet in a row.
template <class F, typename T>
Status fold(KernelContext& c, const Rows& rows, const Shape& shape, scalar::compute_t<T> start) {
  using S = scalar::compute_t<T>;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t n = y->elements();
  if (n == 0) return ok_status();
  Buffer wide;
  S* sums = y->raw_as<S>();
  if constexpr (!std::is_same_v<S, T>) {
    ARGOSY_ASSIGN_OR_RETURN(wide, c.scratch(static_cast<std::size_t>(n) * sizeof(S)));
    sums = reinterpret_cast<S*>(wide.data());
  }
  const T* const x = c.input(0).data<T>();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows.segments), 0);
  for (const std::int64_t id : rows.ids) {
    if (id >= 0) ++counts[id];
  }
  const auto height = static_cast<std::int64_t>(rows.ids.size());
  const std::int64_t grain = std::max<std::int64_t>(16, 32768 / std::max<std::int64_t>(1, height + rows.segments));
  parallel_for(rows.width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = 0; s < rows.segments; ++s) {
      std::fill(sums + s * rows.width + begin, sums + s * rows.width + end,
                counts[s] > 0 ? F::template empty<S>() : start);
    }
    for (std::int64_t i = 0; i < height; ++i) {
      if (rows.ids[i] < 0) continue;
      const T* const from = x + i * rows.width;
      S* const to = sums + rows.ids[i] * rows.width;
      for (std::int64_t j = begin; j < end; ++j) to[j] = F::join(to[j], static_cast<S>(from[j]));
    }
    if constexpr (F::kMean) {
      for (std::int64_t s = 0; s < rows.segments; ++s) {
        for (std::int64_t j = begin; counts[s] > 0 && j < end; ++j) {
          S& sum = sums[s * rows.width + j];
          if constexpr (scalar::is_complex_v<S>) {
            sum /= static_cast<typename S::value_type>(counts[s]);
          } else {
            sum = static_cast<S>(sum / static_cast<S>(counts[s]));
          }
        }
      }
    }
    if constexpr (!std::is_same_v<S, T>) {
      for (std::int64_t s = 0; s < rows.segments; ++s) {
        for (std::int64_t j = begin; j < end; ++j) y->raw_as<T>()[s * rows.width + j] = T(sums[s * rows.width + j]);
      }
    }
  });
  return ok_status();
}

Result<std::vector<std::int64_t>> read_ids(const Tensor& t) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(t.elements()));
  ARGOSY_RETURN_IF_ERROR(
      (dispatch<TypeList<std::int16_t, std::int32_t, std::int64_t>>(t.dtype(), "segment_ids", [&]<typename I>() {
        std::copy_n(t.data<I>(), t.elements(), ids.begin());
        return ok_status();
      })));
  return ids;
}

Result<Shape> with_rows(std::int64_t segments, const Shape& data, int from) {
  std::vector<std::int64_t> sizes = {segments};
  for (int i = from; i < data.rank(); ++i) sizes.push_back(data[i]);
  return Shape::make(sizes);
}

// Ids ascend from 0; segments without rows give 0, products 1.
template <class F, typename Types>
Status sorted(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  if (data.shape().rank() == 0 || ids.shape().rank() != 1 || ids.elements() != data.shape()[0]) {
    return invalid_argument("segment ops want an id for each row: data ", data.shape(), ", segment_ids ", ids.shape());
  }
  Rows rows;
  ARGOSY_ASSIGN_OR_RETURN(rows.ids, read_ids(ids));
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (rows.ids[i] < 0 || (i > 0 && rows.ids[i] < rows.ids[i - 1])) {
      return invalid_argument("segment ids are not increasing: segment ids must ascend from 0, but id ", i, " is ",
                              rows.ids[i], i > 0 ? str_cat(" after ", rows.ids[i - 1]) : std::string());
    }
  }
  if (!rows.ids.empty() && rows.ids.back() == INT64_MAX)
    return invalid_argument("segment id ", INT64_MAX, " is too large");
  rows.segments = rows.ids.empty() ? 0 : rows.ids.back() + 1;
  rows.width = rows.ids.empty() ? 1 : data.elements() / data.shape()[0];
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, with_rows(rows.segments, data.shape(), 1));
  return dispatch<Types>(data.dtype(), "segment op", [&]<typename T>() {
    constexpr bool kProduct = std::is_same_v<F, Prod>;
    return fold<F, T>(c, rows, shape, scalar::compute_t<T>(kProduct ? 1 : 0));
  });
}

template <class F, typename Types>
Status unsorted(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  if (c.input(2).shape().rank() != 0) {
    return invalid_argument("num_segments must be one number, not of shape ", c.input(2).shape());
  }
  Rows rows;
  ARGOSY_ASSIGN_OR_RETURN(rows.segments, to_int64(c.input(2), "num_segments"));
  if (rows.segments < 0) return invalid_argument("num_segments must not be negative: ", rows.segments);
  bool fits = ids.shape().rank() <= data.shape().rank();
  for (int i = 0; fits && i < ids.shape().rank(); ++i) fits = ids.shape()[i] == data.shape()[i];
  if (!fits) {
    return invalid_argument("the shape of data, ", data.shape(), ", must start with that of segment_ids, ",
                            ids.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(rows.ids, read_ids(ids));
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (rows.ids[i] >= rows.segments) {
      return invalid_argument("segment_ids[", i, "] = ", rows.ids[i], " is out of range [0, ", rows.segments,
                              "): segment id ", i, " is ", rows.ids[i], ", outside [0, ", rows.segments, ")");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, with_rows(rows.segments, data.shape(), ids.shape().rank()));
  rows.width = rows.segments == 0 ? 1 : shape.elements() / rows.segments;
  return dispatch<Types>(data.dtype(), "segment op", [&]<typename T>() {
    using S = scalar::compute_t<T>;
    if constexpr (std::is_same_v<F, Extreme<true>>)
      return fold<F, T>(c, rows, shape, S(std::numeric_limits<T>::lowest()));
    if constexpr (std::is_same_v<F, Extreme<false>>)
      return fold<F, T>(c, rows, shape, S(std::numeric_limits<T>::max()));
    return fold<F, T>(c, rows, shape, F::template empty<S>());
  });
}

// 16-bit floats are folded in float32, small integers in 32 bits.
std::optional<std::uint64_t> wide_bytes(const KernelInit& init) {
  std::size_t bytes = 0;
  const Status found = dispatch<NumberTypes>(init.input_dtypes[0], "segment op", [&]<typename T>() {
    bytes = std::is_same_v<scalar::compute_t<T>, T> ? 0 : sizeof(scalar::compute_t<T>);
    return ok_status();
  });
  return !found.ok() || bytes == 0 ? 0 : bytes_for(init.output_shapes[0], bytes);
}

}  // namespace

void add_kernels_cpu_segment(KernelRegistry& kernels) {
  kernels.add("SegmentSum", "cpu", with_workspace<sorted<Sum, NumberTypes>, wide_bytes>);
  kernels.add("SegmentMean", "cpu", with_workspace<sorted<Mean, NumberTypes>, wide_bytes>);
  kernels.add("SegmentProd", "cpu", with_workspace<sorted<Prod, NumberTypes>, wide_bytes>);
  kernels.add("SegmentMax", "cpu", with_workspace<sorted<SortedExtreme<true>, RealTypes>, wide_bytes>);
  kernels.add("SegmentMin", "cpu", with_workspace<sorted<SortedExtreme<false>, RealTypes>, wide_bytes>);
  kernels.add("UnsortedSegmentSum", "cpu", with_workspace<unsorted<Sum, NumberTypes>, wide_bytes>);
  kernels.add("UnsortedSegmentProd", "cpu", with_workspace<unsorted<Prod, NumberTypes>, wide_bytes>);
  kernels.add("UnsortedSegmentMax", "cpu", with_workspace<unsorted<Extreme<true>, RealTypes>, wide_bytes>);
  kernels.add("UnsortedSegmentMin", "cpu", with_workspace<unsorted<Extreme<false>, RealTypes>, wide_bytes>);
  add_kernels_cpu_bincount(kernels);
}

}  // namespace argosy
