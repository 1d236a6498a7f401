#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/partition_inputs.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

std::int64_t elements_behind(const Shape& shape, int axis) {
  std::int64_t n = 1;
  for (int i = axis; i < shape.rank(); ++i) n *= shape[i];
  return n;
}

Status dynamic_partition(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& partitions = c.input(1);
  const int n = c.num_outputs();
  ARGOSY_RETURN_IF_ERROR(check_partitions(c));
  const auto numbers = partitions.values<std::int32_t>();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
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
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_stitch(c));
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
