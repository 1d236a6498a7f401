// Float images as 8-bit ones, by the rule of TensorFlow's ImageSummary (core/kernels/summary_image_op.cc).
#pragma once

#include <span>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// uint8 of the same shape. Over the finite pixels: if any is negative, -m … m becomes 1 … 255 with m the largest
// magnitude, else 0 … largest becomes 0 … 255. A pixel with a channel that is not finite takes `bad_color`.
// REQUIRES: floats[height, width, channels], channels <= bad_color.size().
Tensor scale_image(const Tensor& image, std::span<const std::uint8_t> bad_color);

}  // namespace argosy::tf
