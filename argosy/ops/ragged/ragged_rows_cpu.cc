// Kernels: a default value in every empty row, and back.
#include <algorithm>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/ragged/ragged_rows.h"
#include "argosy/ops/sparse/coo.h"

namespace argosy {

namespace {

using sparse::copy_element;

Status check_arguments(const KernelContext& c) {
  const Shape &ids = c.input(0).shape(), &values = c.input(1).shape();
  if (ids.rank() != 1) return invalid_argument("value_rowids must be a vector, saw: ", ids);
  if (values.rank() != 1) return invalid_argument("values must be a vector, saw: ", values);
  if (c.input(2).shape().rank() != 0) return invalid_argument("nrows must be a scalar, saw: ", c.input(2).shape());
  if (c.input(3).shape().rank() != 0)
    return invalid_argument("default_value must be a scalar, saw: ", c.input(3).shape());
  if (ids[0] != values[0]) {
    return invalid_argument("The length of `values` (", values[0],
                            ") must match the first dimension of `value_rowids` (", ids[0], ").");
  }
  const std::int64_t rows = *c.input(2).data<std::int64_t>();
  if (rows < 0) return invalid_argument("Expected shape dimensions to be non-negative, got ", rows);
  if (rows == 0 && ids[0] > 0) {
    return invalid_argument("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", ids[0]);
  }
  for (std::int64_t i = 0; i < ids[0]; ++i) {
    const std::int64_t row = c.input(0).data<std::int64_t>()[i];
    if (row < 0 || row >= rows) return invalid_argument("indices(", i, ", 0) is invalid: ", row, " >= ", rows);
  }
  return ok_status();
}

// Values stay in their order within a row.
Status fill_rows(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_arguments(c));
  const Tensor &ids = c.input(0), &values = c.input(1);
  const std::int64_t rows = *c.input(2).data<std::int64_t>(), n = ids.elements();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const empty, c.output(2, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const map, c.output(3, {n}));
  // Where each row's next value goes.
  ARGOSY_ASSIGN_OR_RETURN(const Tensor next, Tensor::allocate(DType::kInt64, {rows}, c.allocator()));
  auto* const at = next.data<std::int64_t>();
  std::fill_n(at, rows, std::int64_t{0});
  for (const std::int64_t row : ids.values<std::int64_t>()) ++at[row];
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    empty->data<bool>()[row] = at[row] == 0;
    total += std::max<std::int64_t>(std::exchange(at[row], total), 1);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const to_ids, c.output(0, {total}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const to_values, c.output(1, {total}));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!empty->data<bool>()[row]) continue;
    to_ids->data<std::int64_t>()[at[row]] = row;
    copy_element(*to_values, at[row], c.input(3), 0);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = ids.data<std::int64_t>()[i], to = at[row]++;
    to_ids->data<std::int64_t>()[to] = row;
    copy_element(*to_values, to, values, i);
    map->data<std::int64_t>()[i] = to;
  }
  return ok_status();
}

Status fill_rows_gradient(KernelContext& c) {
  const Tensor &map = c.input(0), &dy = c.input(1);
  if (map.shape().rank() != 1) return invalid_argument("reverse_index_map must be a vector, saw: ", map.shape());
  if (dy.shape().rank() != 1) return invalid_argument("grad_values must be a vector, saw: ", dy.shape());
  const std::int64_t n = dy.elements();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, {map.elements()}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const d_default, c.output(1, {}));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor taken, Tensor::allocate(DType::kBool, {n}, c.allocator()));
  std::fill_n(taken.data<bool>(), n, false);
  return dispatch<NumberTypes>(dy.dtype(), "RaggedFillEmptyRowsGrad", [&]<typename T>() -> Status {
    for (std::int64_t i = 0; i < map.elements(); ++i) {
      const std::int64_t from = map.data<std::int64_t>()[i];
      if (from < 0 || from >= n)
        return invalid_argument("Elements in reverse index must be in [0, ", n, ") but got ", from);
      dx->data<T>()[i] = dy.data<T>()[from];
      taken.data<bool>()[from] = true;
    }
    T sum = T(0);
    for (std::int64_t i = 0; i < n; ++i) {
      if (!taken.data<bool>()[i]) sum = T(sum + dy.data<T>()[i]);
    }
    *d_default->data<T>() = sum;
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_ragged_rows(KernelRegistry& kernels) {
  kernels.add("RaggedFillEmptyRows", "cpu", with_workspace<fill_rows, known_when_run>);
  kernels.add("RaggedFillEmptyRowsGrad", "cpu", with_workspace<fill_rows_gradient, for_elements_of_input<1, 1>>);
  add_kernels_cpu_ragged_cross(kernels);
}

}  // namespace argosy
