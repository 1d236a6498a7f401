// Images as tensors: uint8[height, width, channels], channels 1 (grey), 3 (RGB) or 4 (RGBA). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// Encodes with 8 bits per channel. INVALID_ARGUMENT: the image is not uint8[h,w,1|3|4] with h, w >= 1.
Result<std::string> encode_png(const Tensor& image);
Status write_png(const std::string& path, const Tensor& image);

// Decodes a PNG or JPEG, detected by content, and converts it to `channels`, 1 or 3. Transparent pixels are blended
// with black. At most 2^26 pixels. DATA_LOSS says what is wrong; it does not name the file, which the caller knows.
Result<Tensor> decode_image(std::string_view bytes, int channels);

// Resizes to float[height, width, channels] in 0 … 1, by bilinear interpolation with pixel centres at half integers.
// When it shrinks, each pixel is the average of the area that it covers. REQUIRES: `image` is uint8[h,w,channels], and
// `to` has room for the result.
void resize_to_float(const Tensor& image, std::int64_t height, std::int64_t width, float* to);
// The same for floats in any range, which stay in it. REQUIRES: `shape` is [h,w,channels], and `to` has room for the
// result.
void resize_floats(const float* image, const Shape& shape, std::int64_t height, std::int64_t width, float* to);

}  // namespace argosy::data
