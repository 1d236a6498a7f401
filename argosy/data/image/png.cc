#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/data/files/codec.h"

namespace argosy::data {

namespace {

struct Io {
  std::string_view rest;      // to read
  std::string* to = nullptr;  // to write
  char message[200] = {};
};

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto* io = static_cast<Io*>(png_get_error_ptr(png));
  std::strncpy(io->message, message, sizeof io->message - 1);
  png_longjmp(png, 1);
}
void ignore(png_structp, png_const_charp) {}
void read_bytes(png_structp png, png_bytep to, png_size_t n) {
  auto* io = static_cast<Io*>(png_get_io_ptr(png));
  if (io->rest.size() < n) png_error(png, "it ends too early");
  std::memcpy(to, io->rest.data(), n);
  io->rest.remove_prefix(n);
}
void write_bytes(png_structp png, png_bytep from, png_size_t n) {
  static_cast<Io*>(png_get_io_ptr(png))->to->append(reinterpret_cast<const char*>(from), n);
}

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) {
    io_.rest = bytes;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &io_, leave, ignore);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Result<Tensor> decode(int channels, DType dtype) {
    if (info_ == nullptr) return internal_error("libpng does not start");
    if (!header(&channels, dtype == DType::kUint16)) return failed();
    ARGOSY_ASSIGN_OR_RETURN(Tensor y, decoded_image_memory(dtype, {png_get_image_height(png_, info_),
                                                                   png_get_image_width(png_, info_), channels}));
    const auto height = static_cast<std::size_t>(y.shape()[0]);
    std::vector<png_bytep> rows(height);
    for (std::size_t i = 0; i < height; ++i) rows[i] = y.raw_as<unsigned char>() + i * (y.bytes() / height);
    // A file of 8 bits read as 16: each byte twice, spread from the end so that nothing is overwritten unread.
    const bool widen = dtype == DType::kUint16 && png_get_bit_depth(png_, info_) < 16;
    if (png_get_rowbytes(png_, info_) != y.bytes() / height / (widen ? 2 : 1)) {
      return invalid_argument("Invalid PNG data: rows of ", png_get_rowbytes(png_, info_), " bytes for ", channels,
                              " channels");
    }
    if (!pixels(rows.data())) {
      check_interrupted();
      return failed();
    }
    if (widen) {
      const std::size_t n = static_cast<std::size_t>(y.elements()) / height;
      for (png_bytep row : rows) {
        for (std::size_t i = n; i-- > 0;) {
          const auto value = static_cast<std::uint16_t>(row[i] * 257);
          std::memcpy(row + 2 * i, &value, 2);
        }
      }
    }
    return y;
  }

 private:
  Status failed() const { return invalid_argument("Invalid PNG data: ", io_.message); }

  // No destructors between setjmp and a longjmp.
  bool header(int* channels, bool wide) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &io_, read_bytes);
    png_read_info(png_, info_);
    const int colour = png_get_color_type(png_, info_);
    const int depth = png_get_bit_depth(png_, info_);
    const bool palette = colour == PNG_COLOR_TYPE_PALETTE;
    const bool see_through = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool has_alpha = (colour & PNG_COLOR_MASK_ALPHA) != 0 || see_through;
    const bool is_grey = (colour & PNG_COLOR_MASK_COLOR) == 0;
    if (*channels == 0) {
      *channels = palette ? (see_through ? 4 : 3) : png_get_channels(png_, info_) + (see_through ? 1 : 0);
    }
    const bool want_grey = *channels < 3, want_alpha = *channels % 2 == 0;
    if (is_grey && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (palette) png_set_palette_to_rgb(png_);
    if (see_through) png_set_tRNS_to_alpha(png_);
    if (want_alpha && !has_alpha) png_set_add_alpha(png_, wide ? 0xffff : 0xff, PNG_FILLER_AFTER);
    if (!want_alpha && has_alpha) png_set_strip_alpha(png_);
    if (depth > 8 && !wide) png_set_strip_16(png_);
    if (depth > 8 && wide) png_set_swap(png_);
    png_set_packing(png_);
    png_set_interlace_handling(png_);
    if (want_grey && !is_grey) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
    if (!want_grey && is_grey) png_set_gray_to_rgb(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool pixels(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_status_fn(png_, [](png_structp png, png_uint_32, int) {
      if (interrupted()) png_error(png, "the step is over");
    });
    png_read_image(png_, rows);
    png_read_end(png_, info_);
    return true;
  }

  Io io_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

bool write(png_structp png, png_infop info, Io* io, png_bytepp rows, bool wide, png_uint_32 height, png_uint_32 width,
           int colour, int compression) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, io, write_bytes, nullptr);
  png_set_IHDR(png, info, width, height, wide ? 16 : 8, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (compression >= 0) png_set_compression_level(png, compression);
  png_write_info(png, info);
  if (wide) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

Result<Tensor> decode_png(std::string_view bytes, int channels, DType dtype) {
  return PngReader(bytes).decode(channels, dtype);
}

Result<std::string> encode_png(const void* pixels, DType dtype, std::int64_t height, std::int64_t width, int channels,
                               int compression) {
  constexpr std::int64_t kMost = 1000000;  // libpng's own limit
  if (height < 1 || width < 1 || height > kMost || width > kMost) {
    return invalid_argument("a PNG has 1 to ", kMost, " rows and columns, not ", height, " x ", width);
  }
  constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  const std::size_t line = static_cast<std::size_t>(width * channels) * element_bytes(dtype);
  std::vector<png_bytep> rows(static_cast<std::size_t>(height));
  auto* from = static_cast<unsigned char*>(const_cast<void*>(pixels));
  for (png_bytep& row : rows) {
    row = from;
    from += line;
  }
  std::string bytes;
  Io io;
  io.to = &bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &io, leave, ignore);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool written =
      info != nullptr && write(png, info, &io, rows.data(), dtype == DType::kUint16, static_cast<png_uint_32>(height),
                               static_cast<png_uint_32>(width), kColours[channels - 1], compression);
  png_destroy_write_struct(&png, &info);
  if (!written) return internal_error("PNG: ", io.message);
  return bytes;
}

}  // namespace argosy::data
