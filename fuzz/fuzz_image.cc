#include <vector>

#include "argosy/data/files/codec.h"
#include "argosy/data/image/image.h"
#include "fuzz/input_file.h"

namespace {

// The decoder of the bytes' own kind, whatever it makes of them.
void decode(std::string_view bytes, int channels) {
  using namespace argosy::data;
  switch (image_format(bytes)) {
    case ImageFormat::kJpeg:
      static_cast<void>(decode_jpeg(bytes, {.channels = channels, .ratio = 2, .accept_truncated = true}));
      static_cast<void>(jpeg_shape(bytes));
      break;
    case ImageFormat::kPng: static_cast<void>(decode_png(bytes, channels + 1, argosy::DType::kUint16)); break;
    case ImageFormat::kGif: static_cast<void>(decode_gif(bytes)); break;
    case ImageFormat::kBmp: static_cast<void>(decode_bmp(bytes, 0)); break;
    case ImageFormat::kUnknown: break;
  }
}

}  // namespace

// The first byte chooses the channels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int channels = data[0] % 2 == 0 ? 1 : 3;
  decode(argosy::as_text(data + 1, size - 1), channels);
  const auto image = argosy::data::decode_image(argosy::as_text(data + 1, size - 1), channels);
  if (!image.ok() || image->elements() > (1 << 20)) return 0;
  std::vector<float> small(static_cast<std::size_t>(7 * 5 * channels));
  argosy::data::resize_to_float(*image, 7, 5, small.data());
  return 0;
}
