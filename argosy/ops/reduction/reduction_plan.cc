#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy::reduction {

Result<AxisSet> axis_set(std::span<const std::int64_t> axes, int rank, std::string_view op) {
  AxisSet set;
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return invalid_argument("Invalid reduction dimension (", axis, " for input with ", rank, " dimension(s)): ", op,
                              ": axis ", axis, " is outside [", -rank, ", ", rank, ") for rank ", rank)
          .with_id("ARG-SHAPE-003");
    }
    ARGOSY_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, rank, op));
    if (set[normal]) return invalid_argument(op, ": axis ", normal, " is given twice").with_id("ARG-SHAPE-003");
    set[normal] = true;
  }
  return set;
}

Result<AxisSet> axis_set(const Tensor& axes, int rank, std::string_view op) {
  if (axes.shape().rank() == 0 && axes.dtype() == DType::kInt32) {  // the common one, without the heap
    const std::int64_t axis = *axes.data<std::int32_t>();
    return axis_set(std::span(&axis, 1), rank, op);
  }
  // In whatever shape they come.
  const Tensor flat = axes.shape().rank() > 1 ? axes.reshaped({axes.elements()}) : axes;
  ARGOSY_ASSIGN_OR_RETURN(const auto numbers, to_int64s(flat, str_cat(op, ": axes")));
  return axis_set(numbers, rank, op);
}

ReductionPlan::ReductionPlan(const Shape& input, const AxisSet& axes, bool keep_dims) {
  std::array<std::int64_t, Shape::kMaxRank> sizes;
  int rank = 0;
  for (int i = 0; i < input.rank(); ++i) {
    const bool folded = axes[i];
    if (folded) count *= input[i];
    if (!folded || keep_dims) sizes[rank++] = folded ? 1 : input[i];
    if (input[i] == 1) continue;
    if (!groups.empty() && groups.back().folded == folded) {
      groups.back().size *= input[i];
    } else {
      groups.push_back({input[i], folded});
    }
  }
  output = Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

}  // namespace argosy::reduction
