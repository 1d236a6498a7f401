// Decodes and encodes JPEG, PNG, GIF and BMP images, with the options of TensorFlow's ops. Tensors are
// [height, width, channels], uint8, for PNG also uint16. Pure functions. An image of more than 2^29 elements is refused
// before memory is allocated for it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

enum class ImageFormat { kUnknown, kJpeg, kPng, kGif, kBmp };
ImageFormat image_format(std::string_view bytes);  // detected from the first bytes

struct JpegDecoding {
  int channels = 0;  // 1 or 3; 0: as in the file
  int ratio = 1;     // 1, 2, 4 or 8: the image is made smaller by this factor
  bool fancy_upscaling = true;
  bool accept_truncated = false;  // missing pixels stay grey
  bool fast_dct = false;
};
// INVALID_ARGUMENT: the bytes are not a complete JPEG.
Result<Tensor> decode_jpeg(std::string_view bytes, const JpegDecoding& options);
// Height, width and channels, from the header alone.
Result<std::array<int, 3>> jpeg_shape(std::string_view bytes);

struct JpegEncoding {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  bool per_inch = true;  // densities are in pixels per inch; else per centimetre
  int x_density = 300, y_density = 300;
  std::string xmp = "";  // metadata to embed
};
// REQUIRES: uint8[height, width, 1 or 3], none of them empty.
Result<std::string> encode_jpeg(const Tensor& image, const JpegEncoding& options);

// `channels`: 1-4; 0: as in the file. `dtype`: kUint8 or kUint16. Alpha is dropped, not blended, where none is wanted.
Result<Tensor> decode_png(std::string_view bytes, int channels, DType dtype);
// `compression`: 0-9; -1: zlib's default. REQUIRES: height x width x channels numbers of `dtype`, kUint8 or kUint16.
Result<std::string> encode_png(const void* pixels, DType dtype, std::int64_t height, std::int64_t width, int channels,
                               int compression);

// All frames, each drawn over the one before: [frames, height, width, 3].
Result<Tensor> decode_gif(std::string_view bytes);

// Decodes an uncompressed BMP of 8 (grey), 24 or 32 bits a pixel. `channels`: those of the file, 3 of 4, or 0: all.
Result<Tensor> decode_bmp(std::string_view bytes, int channels);

// Allocates the tensor of a decoded image, or of its frames.
Result<Tensor> decoded_image_memory(DType dtype, std::initializer_list<std::int64_t> sizes);

}  // namespace argosy::data
