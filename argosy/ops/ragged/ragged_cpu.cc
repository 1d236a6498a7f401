// Kernels: ragged rows made, gathered, and turned into sparse and dense tensors.
#include <algorithm>
#include <cmath>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/ragged/ragged_rows.h"
#include "argosy/ops/ragged/splits.h"
#include "argosy/ops/sparse/coo.h"

namespace argosy {

using sparse::copy_element;

Result<Ints> read_splits(const Tensor& t, std::int64_t values, std::string_view op) {
  if (t.shape().rank() != 1) return invalid_argument(op, ": row splits must be a vector, not of shape ", t.shape());
  ARGOSY_ASSIGN_OR_RETURN(Ints splits, read_ints(t, op));
  if (splits.empty()) return invalid_argument(op, ": row splits need one element at least");
  if (splits[0] != 0) return invalid_argument(op, ": row splits must start with 0, not ", splits[0]);
  for (int i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1])
      return invalid_argument(op, ": row splits must ascend: ", splits[i], " after ", splits[i - 1]);
  }
  if (splits.back() != values) return invalid_argument(op, ": row splits end at ", splits.back(), ", not at ", values);
  return splits;
}

Result<std::vector<Ints>> read_nested(const KernelContext& c, int first, int count, std::int64_t values,
                                      std::string_view op) {
  std::vector<Ints> nested(static_cast<std::size_t>(count));
  for (int i = count - 1; i >= 0; --i) {
    ARGOSY_ASSIGN_OR_RETURN(nested[static_cast<std::size_t>(i)], read_splits(c.input(first + i), values, op));
    values = nested[static_cast<std::size_t>(i)].size() - 1;
  }
  return nested;
}

Status put_splits(KernelContext& c, int output, const Ints& splits) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, {splits.size()}));
  return dispatch<IndexTypes>(y->dtype(), "row splits", [&]<typename T>() {
    std::transform(splits.begin(), splits.end(), y->data<T>(), [](std::int64_t v) { return static_cast<T>(v); });
    return ok_status();
  });
}

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 32;

// How many numbers from start on, by delta, are before limit.
template <typename T>
Result<std::int64_t> range_count(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if (delta == 0) return invalid_argument("Requires delta != 0");
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    using U = std::make_unsigned_t<T>;
    const U span =
        delta > 0 ? static_cast<U>(limit) - static_cast<U>(start) : static_cast<U>(start) - static_cast<U>(limit);
    const U step = delta > 0 ? static_cast<U>(delta) : U(0) - static_cast<U>(delta);
    const U count = (span - 1) / step + 1;
    if (count > static_cast<std::uint64_t>(kMost)) return invalid_argument("a range of ", count, " numbers");
    return static_cast<std::int64_t>(count);
  } else {
    const auto s = static_cast<double>(start), l = static_cast<double>(limit), d = static_cast<double>(delta);
    if (d == 0) return invalid_argument("Requires delta != 0");
    if ((d > 0 && s > l) || (d < 0 && s < l)) return 0;  // NaN goes on, and is no count
    const double count = std::ceil(std::abs((l - s) / d));
    if (!(count <= static_cast<double>(kMost))) return invalid_argument("a range of ", count, " numbers");
    return static_cast<std::int64_t>(count);
  }
}

Status range(KernelContext& c) {
  std::int64_t rows = -1;
  for (int i = 0; i < 3; ++i) {
    const Shape& s = c.input(i).shape();
    if (s.rank() > 1) return invalid_argument("starts, limits and deltas must be scalars or vectors, not of shape ", s);
    if (s.rank() == 0) continue;
    if (rows >= 0 && rows != s[0])
      return invalid_argument("starts, limits, and deltas must have the same shape: ", rows, " and ", s[0], " rows");
    rows = s[0];
  }
  if (rows < 0) rows = 1;
  using Types = TypeList<bfloat16, float, double, std::int32_t, std::int64_t>;
  return dispatch<Types>(c.input(0).dtype(), "RaggedRange", [&]<typename T>() -> Status {
    const auto at = [&](int i, std::int64_t row) {
      return c.input(i).data<T>()[c.input(i).shape().rank() == 0 ? 0 : row];
    };
    Ints splits = {0};
    for (std::int64_t row = 0; row < rows; ++row) {
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, range_count(at(0, row), at(1, row), at(2, row)));
      splits.push_back(splits.back() + count);
      if (splits.back() > kMost) return invalid_argument("ranges of more than ", kMost, " numbers");
    }
    ARGOSY_RETURN_IF_ERROR(put_splits(c, 0, splits));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(1, {splits.back()}));
    T* to = y->data<T>();
    for (std::int64_t row = 0; row < rows; ++row) {
      T value = at(0, row);
      for (std::int64_t k = splits[static_cast<int>(row)]; k < splits[static_cast<int>(row) + 1]; ++k) {
        *to++ = value;
        if constexpr (std::is_integral_v<T>) {
          using U = std::make_unsigned_t<T>;  // the last step may leave the range of T
          value = static_cast<T>(static_cast<U>(value) + static_cast<U>(at(2, row)));
        } else {
          value = T(value + at(2, row));
        }
      }
    }
    return ok_status();
  });
}

Status gather(KernelContext& c) {
  const int nested = c.num_inputs() - 2;
  const Tensor& values = c.input(nested);
  const Tensor& indices = c.input(nested + 1);
  if (values.shape().rank() < 1) return invalid_argument("RaggedGather: values must have a rank of at least 1");
  if (indices.shape().rank() < 1 || indices.shape().rank() + nested != c.num_outputs()) {
    return invalid_argument("RaggedGather: indices of shape ", indices.shape(), " for ", c.num_outputs() - 1,
                            " ragged axes of the result");
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Ints> splits, read_nested(c, 0, nested, values.shape()[0], "RaggedGather"));
  // Axes of the indices but the last are regular.
  int output = 0;
  std::int64_t before = 1;
  for (int k = 0; k + 1 < indices.shape().rank(); ++k) {
    before *= indices.shape()[k];
    Ints regular;
    for (std::int64_t i = 0; i <= before; ++i) regular.push_back(i * indices.shape()[k + 1]);
    ARGOSY_RETURN_IF_ERROR(put_splits(c, output++, regular));
  }
  std::vector<Ints> made(static_cast<std::size_t>(nested), Ints{0});
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // rows of values
  ARGOSY_RETURN_IF_ERROR(dispatch<IndexTypes>(indices.dtype(), "RaggedGather", [&]<typename T>() {
    for (const T index : indices.values<T>()) {
      std::int64_t begin = index, end = std::int64_t{index} + 1;
      if (index < 0 || end >= splits[0].size())
        return invalid_argument("index ", index, " is out of range [0, ", splits[0].size() - 1, ")");
      for (std::size_t k = 0; k < splits.size(); ++k) {
        for (std::int64_t row = begin; row < end; ++row) {
          const int at = static_cast<int>(row);
          made[k].push_back(made[k].back() + splits[k][at + 1] - splits[k][at]);
        }
        begin = splits[k][static_cast<int>(begin)];
        end = splits[k][static_cast<int>(end)];
      }
      taken.emplace_back(begin, end);
    }
    return ok_status();
  }));
  for (const Ints& s : made) ARGOSY_RETURN_IF_ERROR(put_splits(c, output++, s));
  std::vector<std::int64_t> sizes(values.shape().sizes().begin(), values.shape().sizes().end());
  sizes[0] = made.back().back();
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, shape));
  const std::int64_t width = values.shape()[0] > 0 ? values.elements() / values.shape()[0] : 0;
  std::int64_t to = 0;
  for (const auto& [begin, end] : taken) {
    for (std::int64_t i = begin * width; i < end * width; ++i) copy_element(*y, to++, values, i);
  }
  return ok_status();
}

Status to_sparse(KernelContext& c) {
  const int nested = c.num_inputs() - 1;
  const Tensor& values = c.input(nested);
  if (values.shape().rank() < 1) return invalid_argument("RaggedTensorToSparse: values must have a rank of at least 1");
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Ints> splits,
                          read_nested(c, 0, nested, values.shape()[0], "RaggedTensorToSparse"));
  const int rank = nested + values.shape().rank();
  Ints sizes = {splits[0].size() - 1};
  for (const Ints& s : splits) {
    std::int64_t longest = 0;
    for (int i = 1; i < s.size(); ++i) longest = std::max(longest, s[i] - s[i - 1]);
    sizes.push_back(longest);
  }
  sizes.append(values.shape().sizes().subspan(1));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {values.elements(), rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const flat, c.output(1, {values.elements()}));
  const std::int64_t width = values.shape()[0] > 0 ? values.elements() / values.shape()[0] : 0;
  const Ints strides = row_major(values.shape().sizes().subspan(1));
  std::vector<int> row(static_cast<std::size_t>(nested), 0);  // the row of each axis that value i lies in
  auto* to = indices->data<std::int64_t>();
  for (std::int64_t i = 0; i < values.shape()[0]; ++i) {
    std::int64_t inside = i;
    for (std::size_t k = static_cast<std::size_t>(nested); k-- > 0;) {
      while (splits[k][row[k] + 1] <= inside) ++row[k];
      inside = row[k];
    }
    for (std::int64_t j = 0; j < width; ++j) {
      *to++ = row[0];
      for (std::size_t k = 0; k < splits.size(); ++k) {
        const std::int64_t at = k + 1 < splits.size() ? row[k + 1] : i;
        *to++ = at - splits[k][row[k]];
      }
      std::int64_t left = j;
      for (int k = 0; k < strides.size(); ++k) {
        *to++ = left / strides[k];
        left %= strides[k];
      }
      copy_element(*flat, i * width + j, values, i * width + j);
    }
  }
  return sparse::put_ints(c, 2, sizes.span(), {rank});
}

// Ascending row numbers of values as row splits of `rows` rows.
Result<Ints> splits_of_row_ids(const Tensor& t, std::int64_t rows) {
  ARGOSY_ASSIGN_OR_RETURN(const Ints ids, read_ints(t, "VALUE_ROWIDS"));
  if (rows < 0 || rows > kMost) return invalid_argument("RaggedTensorToTensor: ", rows, " rows");
  for (int i = 0; i < ids.size(); ++i) {
    if (ids[i] < (i > 0 ? ids[i - 1] : 0) || ids[i] >= rows) {
      return invalid_argument("value_rowids must ascend and be below ", rows, ": ", ids[i], " at ", i);
    }
  }
  Ints splits = {0};
  for (std::int64_t row = 0, at = 0; row < rows; ++row) {
    while (at < ids.size() && ids[static_cast<int>(at)] == row) ++at;
    splits.push_back(at);
  }
  return splits;
}

Status to_tensor(KernelContext& c, const AttrMap& attrs) {
  const Tensor& values = c.input(1);
  const Tensor& fallback = c.input(2);
  const auto& types = attrs.get<std::vector<std::string>>("row_partition_types");
  if (types.empty() || static_cast<int>(types.size()) != c.num_inputs() - 3) {
    return invalid_argument("RaggedTensorToTensor: ", types.size(), " row_partition_types for ", c.num_inputs() - 3,
                            " tensors");
  }
  if (values.shape().rank() < 1) return invalid_argument("RaggedTensorToTensor: values must have a rank of at least 1");
  // Everything as row splits.
  const bool ids = types[0] == "FIRST_DIM_SIZE";
  std::vector<Ints> splits;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Tensor& t = c.input(3 + static_cast<int>(i));
    if (i == 0 && ids) {
      if (t.shape().rank() != 0) return invalid_argument("FIRST_DIM_SIZE must be a scalar, not of shape ", t.shape());
      ARGOSY_ASSIGN_OR_RETURN(rows, read_int(t, "FIRST_DIM_SIZE"));
      continue;
    }
    if (t.shape().rank() != 1) return invalid_argument(types[i], " must be a vector, not of shape ", t.shape());
    if (types[i] != (ids ? "VALUE_ROWIDS" : "ROW_SPLITS")) {
      return invalid_argument("RaggedTensorToTensor: row partition of type ", types[i], " after ", types[0]);
    }
    if (ids) {
      ARGOSY_ASSIGN_OR_RETURN(Ints s, splits_of_row_ids(t, rows));
      rows = t.elements();
      splits.push_back(std::move(s));
    } else {
      const std::int64_t below =
          i + 1 < types.size() ? c.input(4 + static_cast<int>(i)).elements() - 1 : values.shape()[0];
      ARGOSY_ASSIGN_OR_RETURN(Ints s, read_splits(t, below, "RaggedTensorToTensor"));
      splits.push_back(std::move(s));
    }
  }
  if (splits.empty()) return invalid_argument("RaggedTensorToTensor: no ragged axis");
  if (ids && splits.back().back() != values.shape()[0]) {
    return invalid_argument("RaggedTensorToTensor: ", splits.back().back(), " value_rowids for ", values.shape()[0],
                            " values");
  }
  // Sizes: what is asked for, else as many as there are.
  const int nested = static_cast<int>(splits.size());
  Ints sizes = {splits[0].size() - 1};
  for (const Ints& s : splits) {
    std::int64_t longest = 0;
    for (int i = 1; i < s.size(); ++i) longest = std::max(longest, s[i] - s[i - 1]);
    sizes.push_back(longest);
  }
  sizes.append(values.shape().sizes().subspan(1));
  ARGOSY_ASSIGN_OR_RETURN(const Ints wanted, read_ints(c.input(0), "RaggedTensorToTensor: shape"));
  if (c.input(0).shape().rank() == 0) {
    if (wanted[0] != -1)
      return invalid_argument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  } else if (wanted.size() != sizes.size()) {
    return invalid_argument("shape has ", wanted.size(), " sizes, the ragged tensor ", sizes.size(), " axes");
  } else {
    for (int i = 0; i < wanted.size(); ++i) {
      if (wanted[i] < -1) return invalid_argument("shape has a size of ", wanted[i]);
      if (i > nested && wanted[i] >= 0 && wanted[i] != sizes[i]) {
        return invalid_argument("Inconsistent shapes: ", wanted, " for values of ", values.shape());
      }
      if (wanted[i] >= 0) sizes[i] = wanted[i];
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  const Shape inner(values.shape().sizes().subspan(1));
  const auto filled = broadcast(fallback.shape(), inner);
  if (!filled.ok() || *filled != inner) {
    return invalid_argument("default_value of shape ", fallback.shape(), " does not go with values of ",
                            values.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t width = inner.elements();
  // The default, broadcast over the inner axes.
  Ints steps = Ints::filled(inner.rank(), 0);
  const Ints own = row_major(fallback.shape().sizes());
  for (int k = 0; k < fallback.shape().rank(); ++k) {
    if (fallback.shape()[k] != 1) steps[inner.rank() - fallback.shape().rank() + k] = own[k];
  }
  const auto default_at = [&](std::int64_t j) {
    std::int64_t at = 0;
    for (int k = inner.rank() - 1; k >= 0; --k) {
      at += j % inner[k] * steps[k];
      j /= inner[k];
    }
    return at;
  };
  for (std::int64_t i = 0; i < shape.elements(); ++i) copy_element(*y, i, fallback, default_at(i % width));
  if (width == 0) return ok_status();
  // Row after row, as far as there is room.
  const auto place_rows = [&](auto&& self, int axis, std::int64_t begin, std::int64_t end, std::int64_t to) -> void {
    const std::int64_t count = std::min(end - begin, sizes[axis]);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = to * sizes[axis] + i;
      if (axis == nested) {
        for (std::int64_t j = 0; j < width; ++j) copy_element(*y, at * width + j, values, (begin + i) * width + j);
      } else {
        const Ints& s = splits[static_cast<std::size_t>(axis)];
        const int row = static_cast<int>(begin + i);
        self(self, axis + 1, s[row], s[row + 1], at);
      }
    }
  };
  place_rows(place_rows, 0, 0, splits[0].size() - 1, 0);
  return ok_status();
}

}  // namespace

void add_kernels_cpu_ragged(KernelRegistry& kernels) {
  kernels.add("RaggedRange", "cpu", range);
  kernels.add("RaggedGather", "cpu", gather);
  kernels.add("RaggedTensorToSparse", "cpu", to_sparse);
  kernels.add("RaggedTensorToTensor", "cpu", AttrKernel<to_tensor>::make);
  add_kernels_cpu_ragged_variants(kernels);
  add_kernels_cpu_ragged_rows(kernels);
  add_kernels_cpu_composites(kernels);
}

}  // namespace argosy
