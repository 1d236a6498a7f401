// ReductionPlan: the axes that a reduction folds, merged into as few groups as possible, and its output shape.
#pragma once

#include <bitset>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::reduction {

using AxisSet = std::bitset<Shape::kMaxRank>;

// The set of axes in a list, each in [-rank, rank), and given once. INVALID_ARGUMENT names the op.
Result<AxisSet> axis_set(std::span<const std::int64_t> axes, int rank, std::string_view op);
Result<AxisSet> axis_set(const Tensor& axes, int rank, std::string_view op);

// Neighbouring axes that are all folded, or all kept, as one axis. Axes of size 1 are left out, so folded and kept
// groups alternate.
struct Group {
  std::int64_t size;
  bool folded;
};

struct ReductionPlan {
  ReductionPlan(const Shape& input, const AxisSet& axes, bool keep_dims);

  Shape output;
  std::int64_t count = 1;  // elements folded into each output
  std::vector<Group> groups;
};

}  // namespace argosy::reduction
