// Images as tensors: uint8[height, width, channels], channels 1 (grey), 3 (RGB) or 4 (RGBA). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// 8 bits per channel. INVALID_ARGUMENT for anything that is not uint8[h,w,1|3|4] with h, w >= 1.
Result<std::string> encode_png(const Tensor& image);
Status write_png(const std::string& path, const Tensor& image);

// PNG or JPEG, told apart by content, converted to `channels` (1 or 3; transparency over black). At most 2^26 pixels.
// DATA_LOSS says what is wrong; the caller knows the file.
Result<Tensor> decode_image(std::string_view bytes, int channels);

// To float[height, width, channels] in 0 … 1 by bilinear interpolation with pixel centres at half integers; when
// shrinking, each pixel averages the area it covers. REQUIRES: uint8[h,w,channels] and room for the result.
void resize_to_float(const Tensor& image, std::int64_t height, std::int64_t width, float* to);
// The same of floats in any range. REQUIRES: `image` of `shape` [h,w,channels] and room for the result.
void resize_floats(const float* image, const Shape& shape, std::int64_t height, std::int64_t width, float* to);

}  // namespace argosy::data
