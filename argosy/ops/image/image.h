// Ops on images [batch, height, width, channels]: resize, crop, colours, decoding. Names and defaults are those of
// tf.image.*. Further ops have no function here; graphs of TensorFlow name them.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of resizing.
struct ResizeOptions {
  bool align_corners = false;       // the centres of corner pixels keep their places
  bool half_pixel_centers = false;  // pixels are areas; else points at integers
};
// `size`: int32 [height, width]. Results are float32; resize_nearest_neighbor keeps the dtype.
Value resize_bilinear(Value images, Value size, ResizeOptions options = {});
Value resize_nearest_neighbor(Value images, Value size, ResizeOptions options = {});  // each pixel's nearest
Value resize_bicubic(Value images, Value size, ResizeOptions options = {});           // by cubic interpolation; float32
Value resize_area(Value images, Value size);  // the mean of the area that a pixel covers; float32

// Crops boxes [n, 4] of images, and resizes them. A box is y1, x1, y2, x2 in fractions of the image's size; box_indices
// names its image.
Value crop_and_resize(Value images, Value boxes, Value box_indices, Value crop_size, float extrapolation_value = 0);

Value rgb_to_hsv(Value images);  // [..., 3], hue, saturation and value in [0, 1]
Value hsv_to_rgb(Value images);  // the inverse

// Decodes a JPEG file: uint8 [height, width, channels]. `channels` 0: those of the file.
Value decode_jpeg(Value contents, int channels = 0);
// Decodes a PNG file: [height, width, channels]. `channels` 0: those of the file. `dtype`: uint8 or uint16.
Value decode_png(Value contents, int channels = 0, DType dtype = DType::kUint8);
Value encode_jpeg(Value image, int quality = 95);  // [height, width, 1|3], uint8; quality: 0 to 100
Value encode_png(Value image);                     // [height, width, 1 to 4], uint8 or uint16

}  // namespace argosy
