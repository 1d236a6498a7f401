#include "argosy/ops/layout/layout_sharding.h"

#include <algorithm>

#include "argosy/ops/layout/strided_slice.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// N tensors that are alike but along one axis, which belongs to no factor; the others' text is around them.
Result<ShardingRule> join_along(const ShapeContext& c, std::optional<std::int64_t> along, int values,
                                const std::string& before, const std::string& after) {
  const int rank = c.input(values).rank();
  const auto axis = axis_within(along, rank);
  if (!axis) return whole_because("the axis that it joins along is not known");
  DimNames names = dim_names(rank);
  names[static_cast<std::size_t>(*axis)] = "1";
  return sharding_rule_from_text(
      str_cat(before, joined(names), " *", after, " -> ", joined(names), "; linear ", before.empty() ? 0 : 1), c);
}

Result<ShardingRule> split_along(const ShapeContext& c, std::optional<std::int64_t> along, int value,
                                 const std::string& before, const std::string& after) {
  const int rank = c.input(value).rank();
  const auto axis = axis_within(along, rank);
  if (!axis) return whole_because("the axis that it splits is not known");
  DimNames names = dim_names(rank);
  names[static_cast<std::size_t>(*axis)] = "1";
  return sharding_rule_from_text(str_cat(before, joined(names), after, " -> ", joined(names), " *; linear ", value), c);
}

// Dimensions that input and output have alike pass; the others, of `changed`, belong to no factor.
Result<ShardingRule> passing(const ShapeContext& c, const std::vector<bool>& changed, const std::string& operands,
                             const std::string& clauses) {
  DimNames names = dim_names(c.input(0).rank());
  for (std::size_t d = 0; d < names.size(); ++d) {
    if (changed[d]) names[d] = "1";
  }
  return sharding_rule_from_text(str_cat(joined(names), operands, " -> ", joined(names), clauses), c);
}

bool same_size(const ShapeContext& c, int d) { return c.input(0)[d] >= 0 && c.input(0)[d] == c.output(0)[d]; }

// Axes along which elements change their places among those of the same tensor.
Result<ShardingRule> shuffled_along(const ShapeContext& c, const std::optional<std::vector<int>>& axes,
                                    const std::string& operands, const std::string& clauses) {
  if (!axes) return whole_because("the axes that it works along are not known");
  const DimNames names = dim_names(c.input(0).rank());
  std::string text = str_cat(joined(names), operands, " -> ", joined(names), clauses);
  for (const int axis : *axes) text += str_cat("; whole d", axis);
  return sharding_rule_from_text(text, c);
}

// Where the axes of a strided slice come from and go to, axis by axis of the sliced tensor.
struct SlicedAxis {
  bool all = false;  // every element, in order
  int to = -1;       // dimension of the slice; -1: it has none
};
struct SlicedAxes {
  std::vector<SlicedAxis> axes;
  int rank = 0;  // of the slice
};

// `sizes`: of the sliced tensor; `slice`: of the slice. Begin, end and strides are inputs `first` and the next two.
std::optional<SlicedAxes> sliced_axes(const ShapeContext& c, const PartialShape& sizes, const PartialShape& slice,
                                      int first) {
  const StridedSliceMasks masks = StridedSliceMasks::of(c.attrs());
  const PartialShape& length = c.input(first);
  if (length.rank() != 1 || length[0] < 0 || length[0] > 32) return std::nullopt;
  const int n = static_cast<int>(length[0]);
  const auto bit = [](std::int64_t mask, int i) { return (mask >> i & 1) != 0; };
  int indexed = 0;  // axes that an index speaks of
  for (int i = 0; i < n; ++i) {
    if (!bit(masks.ellipsis, i) && !bit(masks.new_axis, i)) ++indexed;
  }
  const int skipped = sizes.rank() - indexed;
  if (skipped < 0) return std::nullopt;
  SlicedAxes result;
  const auto skip = [&] {
    for (int k = 0; k < skipped; ++k) result.axes.push_back({true, result.rank++});
  };
  bool ellipsis = false;
  for (int i = 0; i < n; ++i) {
    if (bit(masks.ellipsis, i)) {
      if (ellipsis) return std::nullopt;
      ellipsis = true;
      skip();
    } else if (bit(masks.new_axis, i)) {
      ++result.rank;
    } else if (bit(masks.shrink_axis, i)) {
      result.axes.push_back({});
    } else {
      const std::int64_t size = sizes[static_cast<int>(result.axes.size())];
      const auto begin = c.int_at(first, i), end = c.int_at(first + 1, i), stride = c.int_at(first + 2, i);
      const bool from_first = bit(masks.begin, i) || begin == 0;
      // Of a batch that is larger than the one at hand, an end that is a number may leave a part out.
      const bool same = size >= 0 && result.rank < slice.rank() && slice[result.rank] == size;
      const bool to_last = bit(masks.end, i) || (end && same && *end >= size);
      result.axes.push_back({stride == 1 && from_first && to_last, result.rank++});
    }
  }
  if (!ellipsis) skip();
  return result;
}

struct SliceNames {
  DimNames whole, slice;
};
SliceNames names_of(const SlicedAxes& sliced) {
  SliceNames names{dim_names(static_cast<int>(sliced.axes.size())),
                   DimNames(static_cast<std::size_t>(sliced.rank), "1")};
  for (std::size_t d = 0; d < sliced.axes.size(); ++d) {
    if (sliced.axes[d].all) {
      names.slice[static_cast<std::size_t>(sliced.axes[d].to)] = names.whole[d];
    } else {
      names.whole[d] = "1";
    }
  }
  return names;
}

}  // namespace

Result<ShardingRule> transpose_sharding(const ShapeContext& c) {
  const int rank = c.input(0).rank();
  const auto perm = axes_within(c, 1, rank);
  if (!perm || static_cast<int>(perm->size()) != rank) return whole_because("the permutation is not known");
  const DimNames x = dim_names(rank);
  DimNames y;
  for (const int axis : *perm) y.push_back(x[static_cast<std::size_t>(axis)]);
  return sharding_rule_from_text(joined(x) + ", . -> " + joined(y) + "; linear 0; monotone 0", c);
}

Result<ShardingRule> concat_sharding(const ShapeContext& c) { return join_along(c, c.input_as_int(0), 1, "., ", ""); }
Result<ShardingRule> concat_v2_sharding(const ShapeContext& c) {
  return join_along(c, c.input_as_int(c.num_inputs() - 1), 0, "", ", .");
}
Result<ShardingRule> split_sharding(const ShapeContext& c) { return split_along(c, c.input_as_int(0), 1, "., ", ""); }
Result<ShardingRule> split_v_sharding(const ShapeContext& c) {
  return split_along(c, c.input_as_int(2), 0, "", ", ., .");
}

Result<ShardingRule> pack_sharding(const ShapeContext& c) {
  const int rank = c.output(0).rank();
  const auto axis = axis_within(c.attrs().get_int("axis"), rank);
  if (!axis) return whole_because("its axis is out of range");
  const DimNames x = dim_names(rank - 1);
  DimNames y = x;
  y.insert(y.begin() + *axis, "1");
  return sharding_rule_from_text(joined(x) + " * -> " + joined(y) + "; linear 0", c);
}

Result<ShardingRule> unpack_sharding(const ShapeContext& c) {
  const int rank = c.input(0).rank();
  const auto axis = axis_within(c.attrs().get_int("axis"), rank);
  if (!axis) return whole_because("its axis is out of range");
  const DimNames y = dim_names(rank - 1);
  DimNames x = y;
  x.insert(x.begin() + *axis, "1");
  return sharding_rule_from_text(joined(x) + " -> " + joined(y) + " *; linear 0", c);
}

Result<ShardingRule> slice_sharding(const ShapeContext& c) {
  std::vector<bool> changed;
  for (int d = 0; d < c.input(0).rank(); ++d) {
    const bool to_end = c.int_at(1, d) == 0 && c.int_at(2, d) == -1;
    changed.push_back(!to_end && !same_size(c, d));
  }
  return passing(c, changed, ", ., size(0)", "; linear 0");
}

Result<ShardingRule> strided_slice_sharding(const ShapeContext& c) {
  const auto sliced = sliced_axes(c, c.input(0), c.output(0), 1);
  if (!sliced || sliced->rank != c.output(0).rank()) return whole_because("what it slices is not known");
  const SliceNames names = names_of(*sliced);
  return sharding_rule_from_text(joined(names.whole) + ", ., ., . -> " + joined(names.slice) + "; linear 0", c);
}

Result<ShardingRule> strided_slice_grad_sharding(const ShapeContext& c) {
  const auto sliced = sliced_axes(c, c.output(0), c.input(4), 1);
  if (!sliced || sliced->rank != c.input(4).rank()) return whole_because("what it slices is not known");
  const SliceNames names = names_of(*sliced);
  return sharding_rule_from_text(
      "size(0), ., ., ., " + joined(names.slice) + " -> " + joined(names.whole) + "; linear 4", c);
}

Result<ShardingRule> pad_sharding(const ShapeContext& c) {
  std::vector<bool> changed;
  for (int d = 0; d < c.input(0).rank(); ++d) {
    const bool none = c.int_at(1, 2 * d) == 0 && c.int_at(1, 2 * d + 1) == 0;
    changed.push_back(!none && !same_size(c, d));
  }
  // The constant counts once, as a member of the group does.
  const bool filled = c.num_inputs() > 2;
  return passing(c, changed, filled ? ", ., -" : ", .", filled ? "; linear 0 2" : "; linear 0");
}

Result<ShardingRule> tile_sharding(const ShapeContext& c) {
  const int rank = c.input(0).rank();
  DimNames x = dim_names(rank), y = x;
  std::string roles;
  std::vector<int> counted;  // dimensions of size 1: multiples are the sizes of the output
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const auto times = c.int_at(1, d);
    if (times == 1 || (same_size(c, d) && c.input(0)[d] > 0)) continue;
    if (c.input(0)[d] == 1) {
      x[at] = "1";
      counted.push_back(d);
    } else if (times && *times > 0 && c.input(0)[d] > 0) {
      y[at] = str_cat("(m", d, " d", d, ")");
      roles += str_cat("; whole m", d);
    } else {
      x[at] = y[at] = "1";
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(ShardingRule rule,
                          sharding_rule_from_text(joined(x) + ", . -> " + joined(y) + "; linear 0" + roles, c));
  if (rule.kind != ShardingRule::Kind::kFactors || counted.empty()) return rule;
  OperandRule& multiples = rule.inputs[1];
  multiples = {
      .kind = OperandRule::Kind::kSizes, .dims = std::vector<FactorsOfDim>(static_cast<std::size_t>(rank)), .of = 0};
  for (const int d : counted) {
    const auto at = static_cast<std::size_t>(d);
    multiples.dims[at] = rule.outputs[0].dims[at];
  }
  return rule;
}

Result<ShardingRule> reverse_sharding(const ShapeContext& c) {
  return shuffled_along(c, axes_within(c, 1, c.input(0).rank()), ", .", "; linear 0");
}

Result<ShardingRule> roll_sharding(const ShapeContext& c) {
  return shuffled_along(c, axes_within(c, 2, c.input(0).rank()), ", ., .", "; linear 0");
}

Result<ShardingRule> reverse_sequence_sharding(const ShapeContext& c) {
  const int rank = c.input(0).rank();
  const auto along = axis_within(c.attrs().get_int("seq_dim"), rank);
  const auto batch = axis_within(c.attrs().get_int("batch_dim"), rank);
  if (!along || !batch) return whole_because("its axes are out of range");
  return shuffled_along(c, std::vector<int>{*along}, str_cat(", d", *batch), "; linear 0");
}

}  // namespace argosy
