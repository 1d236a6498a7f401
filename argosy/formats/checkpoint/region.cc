#include "argosy/formats/checkpoint/region.h"

#include <algorithm>
#include <cstring>

namespace argosy::tf {

namespace {

// Along one axis: where the common part begins in the whole, how long it is.
struct Common {
  std::int64_t start, length;
};

Common common_of(const Extent& a, const Extent& b, std::int64_t size) {
  const std::int64_t a_end = a.length < 0 ? size : a.start + a.length;
  const std::int64_t b_end = b.length < 0 ? size : b.start + b.length;
  const std::int64_t start = std::max(a.start, b.start);
  return {start, std::min(a_end, b_end) - start};
}

}  // namespace

// Row by row of the last axis.
std::int64_t copy_common(const Tensor& to, const Slice& to_slice, const Tensor& from, const Slice& from_slice,
                         const Shape& whole) {
  const auto rank = static_cast<std::size_t>(whole.rank());
  if (rank == 0) {
    copy_elements(to, from);
    return 1;
  }
  std::vector<Common> common(rank);
  std::int64_t count = 1;
  for (std::size_t k = 0; k < rank; ++k) {
    common[k] = common_of(to_slice[k], from_slice[k], whole[static_cast<int>(k)]);
    if (common[k].length <= 0) return 0;
    count *= common[k].length;
  }
  const std::vector<std::int64_t> to_strides = to.shape().strides(), from_strides = from.shape().strides();
  const std::int64_t row = common[rank - 1].length;
  std::vector<std::int64_t> at(rank, 0);
  while (true) {
    std::int64_t t = 0, f = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      t += (common[k].start + at[k] - to_slice[k].start) * to_strides[k];
      f += (common[k].start + at[k] - from_slice[k].start) * from_strides[k];
    }
    if (is_plain(to.dtype())) {
      const std::size_t width = element_bytes(to.dtype());
      std::memcpy(to.raw_as<char>() + static_cast<std::size_t>(t) * width,
                  from.raw_as<char>() + static_cast<std::size_t>(f) * width, static_cast<std::size_t>(row) * width);
    } else {
      std::copy_n(from.data<std::string>() + f, row, to.data<std::string>() + t);
    }
    std::size_t axis = rank - 1;
    while (axis > 0) {
      --axis;
      if (++at[axis] < common[axis].length) break;
      at[axis] = 0;
      if (axis == 0) return count;
    }
    if (rank == 1) return count;
  }
}

}  // namespace argosy::tf
