// Converts float images to 8 bits, by the rule of TensorFlow's ImageSummary (core/kernels/summary_image_op.cc).
#pragma once

#include <span>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Returns a uint8 image of the same shape. The range is that of the finite pixels: if any is negative, -m … m maps to
// 1 … 255, where m is the largest magnitude; else 0 … largest maps to 0 … 255. A pixel with a channel that is not
// finite becomes `bad_color`. REQUIRES: floats[height, width, channels], channels <= bad_color.size().
Tensor scale_image(const Tensor& image, std::span<const std::uint8_t> bad_color);

}  // namespace argosy::tf
