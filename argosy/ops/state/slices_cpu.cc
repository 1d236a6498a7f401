#include "argosy/ops/state/slices.h"

#include "argosy/base/checked.h"

namespace argosy::state {

namespace {

std::int64_t index_at(const Tensor& indices, std::int64_t i) {
  return indices.dtype() == DType::kInt32 ? indices.data<std::int32_t>()[i] : indices.data<std::int64_t>()[i];
}

Result<Starts> make_starts(KernelContext& c, std::int64_t count) {
  const auto bytes = checked_mul(count, sizeof(std::int64_t));
  if (!bytes) return resource_exhausted("indices that name ", count, " slices");
  ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(*bytes)));
  return Starts{std::move(memory), count};
}
std::int64_t* data(const Starts& starts) { return reinterpret_cast<std::int64_t*>(starts.memory.data()); }

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes) n *= size;
  return n;
}

}  // namespace

Result<Starts> row_starts(KernelContext& c, const Tensor& indices, const Shape& variable, std::int64_t& slice) {
  slice = product(variable.sizes().subspan(1));
  ARGOSY_ASSIGN_OR_RETURN(Starts starts, make_starts(c, indices.elements()));
  for (std::int64_t i = 0; i < starts.count; ++i) {
    const std::int64_t row = index_at(indices, i);
    if (row < 0 || row >= variable[0]) {
      return invalid_argument("indices[", i, "] = ", row, " is not in [0, ", variable[0], ")").with_id("ARG-INDEX-001");
    }
    data(starts)[i] = row * slice;
  }
  return starts;
}

namespace {

// Of the i-th row of indices, whose number for `axis` is none of the variable's.
Status outside(const Tensor& indices, std::int64_t i, int depth, int axis, const Shape& variable) {
  std::string row;
  for (int k = 0; k < depth; ++k) row += str_cat(k == 0 ? "" : ", ", index_at(indices, i * depth + k));
  return invalid_argument("indices[", i, "] = [", row, "] does not index into shape ", variable, ": indices[", i,
                          "] has ", index_at(indices, i * depth + axis), " for axis ", axis, ", which is not in [0, ",
                          variable[axis], ")")
      .with_id("ARG-INDEX-001");
}

}  // namespace

Result<Starts> nd_starts(KernelContext& c, const Tensor& indices, const Shape& variable, bool skip_bad,
                         std::int64_t& slice) {
  const auto depth = static_cast<int>(indices.shape().back());  // checked by nd_result_shape
  slice = product(variable.sizes().subspan(static_cast<std::size_t>(depth)));
  // Empty slices need no index, however many of them a shape such as [2^40, 0] claims.
  const auto rows = indices.shape().sizes().first(static_cast<std::size_t>(indices.shape().rank() - 1));
  ARGOSY_ASSIGN_OR_RETURN(Starts starts, make_starts(c, slice == 0 ? 0 : product(rows)));
  for (std::int64_t i = 0; i < starts.count; ++i) {
    std::int64_t start = 0;
    for (int axis = 0; axis < depth; ++axis) {
      const std::int64_t index = index_at(indices, i * depth + axis);
      if (index < 0 || index >= variable[axis]) {
        if (skip_bad) {
          start = -1;
          break;
        }
        return outside(indices, i, depth, axis, variable);
      }
      start = start * variable[axis] + index;
    }
    data(starts)[i] = start < 0 ? -1 : start * slice;
  }
  return starts;
}

Result<Shape> nd_result_shape(const Shape& indices, const Shape& variable) {
  if (indices.rank() < 1) return invalid_argument("indices must have at least one axis");
  if (indices.back() > variable.rank()) {
    return invalid_argument("indices of ", indices.back(), " numbers cannot name a slice of shape ", variable);
  }
  std::vector<std::int64_t> sizes(indices.sizes().begin(), indices.sizes().end() - 1);
  for (int axis = static_cast<int>(indices.back()); axis < variable.rank(); ++axis) sizes.push_back(variable[axis]);
  return Shape::make(sizes);
}

}  // namespace argosy::state
