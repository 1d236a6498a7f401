#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided_copy.h"

namespace argosy {

namespace {

bool starts_with(const Shape& shape, const Shape& prefix) {
  return prefix.rank() <= shape.rank() &&
         std::equal(prefix.sizes().begin(), prefix.sizes().end(), shape.sizes().begin());
}

std::int64_t elements_behind(const Shape& shape, int axis) {
  std::int64_t n = 1;
  for (int i = axis; i < shape.rank(); ++i) n *= shape[i];
  return n;
}

Status dynamic_partition(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& partitions = c.input(1);
  const int n = c.num_outputs();
  if (!starts_with(data.shape(), partitions.shape())) {
    return invalid_argument("DynamicPartition: data of shape ", data.shape(), " does not begin with the shape ",
                            partitions.shape(), " of partitions");
  }
  const auto numbers = partitions.values<std::int32_t>();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= n) {
      return invalid_argument("DynamicPartition: partitions[", i, "] = ", numbers[i], " is not in [0, ", n, ")");
    }
    ++counts[static_cast<std::size_t>(numbers[i])];
  }
  const int behind = partitions.shape().rank();
  Ints sizes = {0};
  sizes.append(data.shape().sizes().subspan(static_cast<std::size_t>(behind)));
  std::vector<Tensor*> pieces;
  for (int i = 0; i < n; ++i) {
    sizes[0] = counts[static_cast<std::size_t>(i)];
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const piece, c.output(i, Shape(sizes.span())));
    pieces.push_back(piece);
    counts[static_cast<std::size_t>(i)] = 0;  // from here on: rows written
  }
  const std::int64_t row = elements_behind(data.shape(), behind);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto p = static_cast<std::size_t>(numbers[i]);
    copy_span(*pieces[p], counts[p]++ * row, data, static_cast<std::int64_t>(i) * row, row);
  }
  return ok_status();
}

Status dynamic_stitch(KernelContext& c) {
  const int n = c.num_inputs() / 2;
  std::int64_t rows = 0;
  const auto row_sizes = [&](int i) {
    return c.input(n + i).shape().sizes().subspan(static_cast<std::size_t>(c.input(i).shape().rank()));
  };
  for (int i = 0; i < n; ++i) {
    const Tensor& indices = c.input(i);
    const Shape& data = c.input(n + i).shape();
    if (!starts_with(data, indices.shape())) {
      return invalid_argument("DynamicStitch: data[", i, "] of shape ", data, " does not begin with the shape ",
                              indices.shape(), " of its indices");
    }
    if (Ints(row_sizes(i)) != row_sizes(0)) {
      return invalid_argument("DynamicStitch: rows of data[", i, "], of shape ", data,
                              ", differ from those of data[0]");
    }
    for (const std::int32_t index : indices.values<std::int32_t>()) {
      if (index < 0) return invalid_argument("DynamicStitch: an index of ", index, " in indices[", i, "]");
      rows = std::max<std::int64_t>(rows, index + std::int64_t{1});
    }
  }
  Ints sizes = {rows};
  sizes.append(row_sizes(0));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));

  fill_zeros(*y);  // rows that nobody gives
  const std::int64_t row = elements_behind(shape, 1);
  for (int i = 0; i < n; ++i) {
    const auto indices = c.input(i).values<std::int32_t>();
    for (std::size_t k = 0; k < indices.size(); ++k) {
      copy_span(*y, indices[k] * row, c.input(n + i), static_cast<std::int64_t>(k) * row, row);
    }
  }
  return ok_status();
}

}  // namespace

void add_partitions(KernelRegistry& kernels) {
  kernels.add("DynamicPartition", "cpu", dynamic_partition);
  kernels.add("DynamicStitch", "cpu", dynamic_stitch);
  kernels.add("ParallelDynamicStitch", "cpu", dynamic_stitch);
}

}  // namespace argosy
