// Which axes a reduction folds, and how the rest is laid out.
#pragma once

#include <bitset>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::reduction {

using AxisSet = std::bitset<Shape::kMaxRank>;

// Axes -rank … rank-1, each once; errors name the op.
Result<AxisSet> axis_set(std::span<const std::int64_t> axes, int rank, std::string_view op);
Result<AxisSet> axis_set(const Tensor& axes, int rank, std::string_view op);

// Neighbouring axes of one kind as one, sizes of 1 left out: kinds alternate.
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
