// Checks of images, for kernels on every kind of device. Private to this folder.
#pragma once

#include <array>
#include <string_view>

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy::image {

// Reads height and width from a vector of two positive numbers.
inline Result<std::array<std::int64_t, 2>> read_size(const Tensor& t, std::string_view op) {
  if (t.shape() != Shape{2}) return invalid_argument(op, ": a size is [height, width], not of shape ", t.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Ints size, read_ints(t, op));
  if (size[0] <= 0 || size[1] <= 0) return invalid_argument(op, ": output dimensions must be positive, not ", size);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (size[0] > kMost || size[1] > kMost) return resource_exhausted(op, ": images of ", size[0], " x ", size[1]);
  return std::array<std::int64_t, 2>{size[0], size[1]};
}
// Images must have rank 4. With `full`, no size but the batch may be 0.
inline Status check_images(const Tensor& t, std::string_view op, bool full = true) {
  const Shape& s = t.shape();
  if (s.rank() != 4) return invalid_argument(op, ": images are [batch, height, width, channels], not of shape ", s);
  if (full && (s[1] == 0 || s[2] == 0 || s[3] == 0)) {
    return invalid_argument(op, ": input image must be of non-zero size, not ", s);
  }
  return ok_status();
}

// The last axis must be red, green and blue.
inline Status check_three_channels(const Shape& s, std::string_view op) {
  if (s.rank() >= 1 && s.back() == 3) return ok_status();
  if (s.rank() == 0) return invalid_argument(op, ": input must be at least 1D");
  const Code code = op.starts_with("Adjust") ? Code::kInvalidArgument : Code::kFailedPrecondition;
  return Status(code, str_cat(op, ": the last axis must be 3 channels, not of shape ", s));
}
// Inputs of AdjustContrast and the like: input 0 is one or several images, the others are scalars with these names.
inline Status check_adjusted(const KernelContext& c, std::initializer_list<std::string_view> numbers) {
  if (c.input(0).shape().rank() < 3) {
    return invalid_argument("input must be at least 3-D, got shape ", c.input(0).shape());
  }
  int i = 0;
  for (const std::string_view name : numbers) {
    const Shape& shape = c.input(++i).shape();
    if (shape.rank() != 0) return invalid_argument(name, " must be a scalar, not of shape ", shape);
  }
  return ok_status();
}

}  // namespace argosy::image
