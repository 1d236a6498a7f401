#include "argosy/ops/layout/strided_slice.h"

#include <bit>

namespace argosy {

namespace {

constexpr int kMaxEntries = 32;  // bits of a mask

bool has(std::int64_t mask, int i) { return ((mask >> i) & 1) != 0; }

// One axis of the input: what was asked of it.
struct Entry {
  std::int64_t begin = 0, end = 0, stride = 1;
  bool from_start = true, to_end = true, shrink = false;
};

// Steps from one end of [0, size) to the other. A negative stride walks size-1 … -1.
Status resolve_entry(std::string_view op, int axis, std::int64_t size, Entry& e, std::int64_t& count) {
  count = PartialShape::kUnknown;
  if (e.stride == 0)
    return invalid_argument("strides[", axis, "] must be non-zero: ", op, ": strides[", axis, "] must not be zero");
  if (e.shrink) {
    if (e.stride != kUnknownIndex && e.stride < 0) {
      return invalid_argument(op, ": an index that removes axis ", axis, " needs a positive stride, not ", e.stride);
    }
    count = 1;
    if (e.begin == kUnknownIndex || size < 0) return ok_status();
    const std::int64_t at = e.begin < 0 ? e.begin + size : e.begin;
    if (at < 0 || at >= size) {
      return invalid_argument("slice index ", e.begin, " of dimension ", axis, " out of bounds: ", op, ": index ",
                              e.begin, " of axis ", axis, " is out of bounds for size ", size);
    }
    e.begin = at;
    e.stride = 1;
    return ok_status();
  }
  if (size < 0 || e.stride == kUnknownIndex) return ok_status();
  const bool forward = e.stride > 0;
  const std::int64_t low = forward ? 0 : -1;
  const std::int64_t high = forward ? size : size - 1;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, low, high); };
  if ((!e.from_start && e.begin == kUnknownIndex) || (!e.to_end && e.end == kUnknownIndex)) return ok_status();
  e.begin = e.from_start ? (forward ? low : high) : place(e.begin);
  e.end = e.to_end ? (forward ? high : low) : place(e.end);
  const std::int64_t length = e.end - e.begin;
  count = length == 0 || (length < 0) == forward ? 0 : length / e.stride + (length % e.stride != 0);
  return ok_status();
}

}  // namespace

StridedSliceMasks StridedSliceMasks::of(const AttrMap& attrs) {
  return {attrs.get_int("begin_mask"), attrs.get_int("end_mask"), attrs.get_int("ellipsis_mask"),
          attrs.get_int("new_axis_mask"), attrs.get_int("shrink_axis_mask")};
}

Result<StridedSliceView> resolve_strided_slice(std::string_view op, std::span<const std::int64_t> input_sizes,
                                               const Ints& begin, const Ints& end, const Ints& strides,
                                               const StridedSliceMasks& masks) {
  const int entries = begin.size();
  const int rank = static_cast<int>(input_sizes.size());
  if (end.size() != entries || strides.size() != entries) {
    return invalid_argument(op, ": begin, end and strides must have one length, not ", entries, ", ", end.size(),
                            " and ", strides.size());
  }
  if (entries > kMaxEntries) return invalid_argument(op, ": ", entries, " indices; at most 32 are allowed");

  // Also where there is no such entry, as in TensorFlow.
  if (std::popcount(static_cast<std::uint64_t>(masks.ellipsis)) > 1) {
    return invalid_argument(op, ": more than one ellipsis");
  }
  int ellipsis = -1;
  int new_axes = 0;
  for (int i = 0; i < entries; ++i) {
    if (has(masks.ellipsis, i)) {
      ellipsis = i;
    } else if (has(masks.new_axis, i)) {
      ++new_axes;
    }
  }
  const int indexed = entries - new_axes - (ellipsis >= 0 ? 1 : 0);
  if (indexed > rank) {
    return invalid_argument("Index out of range using input dim ", rank, "; input has only ", rank, " dims: ", op, ": ",
                            indexed, " axes are indexed, but the input has rank ", rank);
  }

  StridedSliceView view{Ints::filled(rank, 0), Ints::filled(rank, 1), Ints::filled(rank, 0), {}};
  int axis = 0;
  const auto take = [&](Entry e) -> Status {
    std::int64_t count = 0;
    ARGOSY_RETURN_IF_ERROR(resolve_entry(op, axis, input_sizes[axis], e, count));
    view.begin[axis] = e.begin;
    view.strides[axis] = e.stride;
    view.sizes[axis] = count;
    if (!e.shrink) view.output_sizes.push_back(count);
    ++axis;
    return ok_status();
  };
  for (int i = 0; i < entries; ++i) {
    if (i == ellipsis) {
      for (int n = rank - indexed; n > 0; --n) ARGOSY_RETURN_IF_ERROR(take(Entry{}));
    } else if (has(masks.new_axis, i)) {
      view.output_sizes.push_back(1);
    } else {
      ARGOSY_RETURN_IF_ERROR(take({.begin = begin[i],
                                   .end = end[i],
                                   .stride = strides[i],
                                   .from_start = has(masks.begin, i),
                                   .to_end = has(masks.end, i),
                                   .shrink = has(masks.shrink_axis, i)}));
    }
  }
  while (axis < rank) ARGOSY_RETURN_IF_ERROR(take(Entry{}));
  return view;
}

}  // namespace argosy
