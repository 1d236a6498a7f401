// Images: [batch, height, width, channels], resized, cropped, recoloured, decoded. Names and defaults are those of
// tf.image.*. More ops are there by their names: graphs of TensorFlow bring them along.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// How images get another size.
struct ResizeOptions {
  bool align_corners = false;       // the centres of the corner pixels stay where they are
  bool half_pixel_centers = false;  // pixels are areas; else points at whole numbers
};
// `size`: int32 [height, width]. Results are float32, of the nearest-neighbour kind the images' dtype.
Value resize_bilinear(Value images, Value size, ResizeOptions options = {});
Value resize_nearest_neighbor(Value images, Value size, ResizeOptions options = {});  // each pixel's nearest
Value resize_bicubic(Value images, Value size, ResizeOptions options = {});           // by cubic interpolation; float32
Value resize_area(Value images, Value size);  // the mean of the area that a pixel covers; float32

// Boxes [n, 4] of y1, x1, y2, x2 in parts of the image's size, each of the image that box_indices names, resized.
Value crop_and_resize(Value images, Value boxes, Value box_indices, Value crop_size, float extrapolation_value = 0);

Value rgb_to_hsv(Value images);  // [..., 3], hue, saturation and value in [0, 1]
Value hsv_to_rgb(Value images);  // the way back

// Pixels out of files' bytes: uint8 [height, width, channels]; channels 0: as in the file.
Value decode_jpeg(Value contents, int channels = 0);
// [height, width, channels]; channels 0: those of the file. dtype: uint8 or uint16.
Value decode_png(Value contents, int channels = 0, DType dtype = DType::kUint8);
Value encode_jpeg(Value image, int quality = 95);  // [height, width, 1|3], uint8; quality: 0 to 100
Value encode_png(Value image);                     // [height, width, 1 to 4], uint8 or uint16

}  // namespace argosy
