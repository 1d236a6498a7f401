#include "argosy/data/files/codec.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "argosy/tensor/string_budget.h"

namespace argosy::data {

ImageFormat image_format(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.starts_with("GIF8")) return ImageFormat::kGif;
  if (bytes.starts_with("BM")) return ImageFormat::kBmp;
  return ImageFormat::kUnknown;
}

Result<Tensor> decoded_image_memory(DType dtype, std::initializer_list<std::int64_t> sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > kMost || (elements *= size) > kMost) {
      return invalid_argument("an image of [", str_join(sizes, ","), "] elements; at most 2^29 are read");
    }
  }
  return allocate_reserved(HostUse::kImages, dtype, Shape(sizes), "a decoded image");
}

namespace {

struct GifCloser {
  void operator()(GifFileType* gif) const {
    int error = 0;
    DGifCloseFile(gif, &error);
  }
};
using Gif = std::unique_ptr<GifFileType, GifCloser>;

int read_bytes(GifFileType* gif, GifByteType* to, int wanted) {
  auto& rest = *static_cast<std::string_view*>(gif->UserData);
  const std::size_t n = std::min(rest.size(), static_cast<std::size_t>(std::max(wanted, 0)));
  std::memcpy(to, rest.data(), n);
  rest.remove_prefix(n);
  return static_cast<int>(n);
}

Status damaged_gif(int code) {
  const char* const why = GifErrorString(code);
  return invalid_argument("Invalid GIF data: ", why != nullptr ? why : "it ends too early");
}

// Draws the pixels of one frame that lie within the canvas. Transparent pixels leave the canvas as it is.
Status draw(const GifFileType& gif, int frame, std::uint8_t* canvas) {
  const SavedImage& image = gif.SavedImages[frame];
  const GifImageDesc& at = image.ImageDesc;
  const ColorMapObject* const colours = at.ColorMap != nullptr ? at.ColorMap : gif.SColorMap;
  if (colours == nullptr) return invalid_argument("Invalid GIF data: frame ", frame, " has no colours");
  GraphicsControlBlock control = {};
  const bool controlled = DGifSavedExtensionToGCB(const_cast<GifFileType*>(&gif), frame, &control) == GIF_OK;
  const int transparent = controlled ? control.TransparentColor : NO_TRANSPARENT_COLOR;
  for (int y = 0; y < at.Height; ++y) {
    for (int x = 0; x < at.Width; ++x) {
      const int row = at.Top + y, column = at.Left + x;
      if (row < 0 || row >= gif.SHeight || column < 0 || column >= gif.SWidth) continue;
      const int colour = image.RasterBits[static_cast<std::size_t>(y) * static_cast<std::size_t>(at.Width) +
                                          static_cast<std::size_t>(x)];
      if (colour == transparent) continue;
      if (colour >= colours->ColorCount) {
        return invalid_argument("Invalid GIF data: colour ", colour, " of ", colours->ColorCount);
      }
      const GifColorType& rgb = colours->Colors[colour];
      std::uint8_t* const to =
          canvas +
          (static_cast<std::size_t>(row) * static_cast<std::size_t>(gif.SWidth) + static_cast<std::size_t>(column)) * 3;
      to[0] = rgb.Red;
      to[1] = rgb.Green;
      to[2] = rgb.Blue;
    }
  }
  return ok_status();
}

}  // namespace

Result<Tensor> decode_gif(std::string_view bytes) {
  int error = 0;
  std::string_view rest = bytes;
  const Gif gif(DGifOpen(&rest, read_bytes, &error));
  if (!gif) return damaged_gif(error);
  if (gif->SWidth < 1 || gif->SHeight < 1 || std::int64_t{gif->SWidth} * gif->SHeight > (1 << 28)) {
    return invalid_argument("Invalid GIF data: a canvas of ", gif->SWidth, " x ", gif->SHeight);
  }
  if (DGifSlurp(gif.get()) != GIF_OK) return damaged_gif(gif->Error);
  if (gif->ImageCount < 1) return invalid_argument("Invalid GIF data: no frames");
  ARGOSY_ASSIGN_OR_RETURN(Tensor y,
                          decoded_image_memory(DType::kUint8, {gif->ImageCount, gif->SHeight, gif->SWidth, 3}));
  const std::size_t canvas = y.bytes() / static_cast<std::size_t>(gif->ImageCount);
  auto* to = y.data<std::uint8_t>();
  for (int frame = 0; frame < gif->ImageCount; ++frame, to += canvas) {
    if (frame == 0) {
      std::memset(to, 0, canvas);
    } else {
      std::memcpy(to, to - canvas, canvas);
    }
    ARGOSY_RETURN_IF_ERROR(draw(*gif, frame, to));
  }
  return y;
}

Result<Tensor> decode_bmp(std::string_view bytes, int channels) {
  constexpr std::size_t kHeader = 32;
  if (bytes.size() < kHeader) return invalid_argument("Incomplete bmp content: ", bytes.size(), " bytes");
  const auto number = [&](std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return std::int64_t{value};
  };
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 28, 2);
  const std::int64_t pixels = number(10), width = number(18), signed_height = number(22);
  const std::int64_t height = std::abs(signed_height);  // negative: rows from the top
  if (bits != 8 && bits != 24 && bits != 32) {
    return invalid_argument("a BMP of ", bits, " bits a pixel; those of 8, 24 and 32 are read");
  }
  const std::int64_t each = bits / 8;
  if (channels != 0 && channels != each && !(channels == 3 && each == 4)) {
    return invalid_argument("channels attribute ", channels, " does not match bits per pixel from file ", each);
  }
  const std::int64_t wanted = channels == 0 ? each : channels;
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, decoded_image_memory(DType::kUint8, {height, width, wanted}));
  const std::int64_t line = (width * each + 3) / 4 * 4;  // rows start at multiples of four bytes
  const std::int64_t needed = line * (height - 1) + width * each;
  if (pixels < 0 || static_cast<std::int64_t>(bytes.size()) < pixels ||
      static_cast<std::int64_t>(bytes.size()) - pixels < needed) {
    return invalid_argument("Incomplete bmp content: ", bytes.size(), " bytes for ", width, " x ", height, " pixels");
  }
  auto* to = y.data<std::uint8_t>();
  for (std::int64_t row = 0; row < height; ++row) {
    const std::int64_t from_row = signed_height < 0 ? row : height - 1 - row;
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data()) + pixels + from_row * line;
    for (std::int64_t x = 0; x < width; ++x, from += each, to += wanted) {
      if (each == 1) {
        to[0] = from[0];
        continue;
      }
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
      if (wanted == 4) to[3] = from[3];
    }
  }
  return y;
}

}  // namespace argosy::data
