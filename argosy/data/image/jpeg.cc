// libjpeg's headers want these two before them.
#include <cstddef>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/data/files/codec.h"

namespace argosy::data {

namespace {

// libjpeg reports errors by longjmp. Between setjmp and the handler there may be no objects with destructors.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
  bool truncated;
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->leave, 1);
}
void note(j_common_ptr info, int level) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  if (level < 0) ++errors->manager.num_warnings;
  if (level < 0 && errors->manager.msg_code == JWRN_JPEG_EOF) errors->truncated = true;
}
jpeg_error_mgr* start(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave;
  errors.manager.emit_message = note;
  errors.manager.output_message = [](j_common_ptr) {};
  return &errors.manager;
}

bool read_header(jpeg_decompress_struct* info, Errors* errors, std::string_view bytes) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_create_decompress(info);
  jpeg_mem_src(info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(info, TRUE);
  return true;
}
bool choose(jpeg_decompress_struct* info, Errors* errors, const JpegDecoding* options, int channels) {
  if (setjmp(errors->leave) != 0) return false;
  const bool ink = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
  info->out_color_space = channels == 1 ? JCS_GRAYSCALE : ink ? JCS_CMYK : JCS_RGB;
  info->scale_num = 1;
  info->scale_denom = static_cast<unsigned>(options->ratio);
  info->do_fancy_upsampling = options->fancy_upscaling ? TRUE : FALSE;
  info->dct_method = options->fast_dct ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_calc_output_dimensions(info);
  return true;
}
// `line` has room for one row of the file's own kind.
bool read_rows(jpeg_decompress_struct* info, Errors* errors, unsigned char* to, unsigned char* line) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_start_decompress(info);
  const bool ink = info->out_color_space == JCS_CMYK;
  const std::size_t pixels = info->output_width;
  const std::size_t row = pixels * (ink ? 3 : static_cast<std::size_t>(info->output_components));
  while (info->output_scanline < info->output_height) {
    unsigned char* at = to + row * info->output_scanline;
    unsigned char* target = ink ? line : at;
    jpeg_read_scanlines(info, &target, 1);
    if (interrupted()) return false;
    for (std::size_t x = 0; ink && x < pixels; ++x) {  // Adobe writes inks the other way round
      const unsigned k = line[4 * x + 3];
      for (std::size_t c = 0; c < 3; ++c) {
        const unsigned v = line[4 * x + c];
        at[3 * x + c] =
            static_cast<unsigned char>(info->saw_Adobe_marker != 0 ? k * v / 255 : (255 - k) * (255 - v) / 255);
      }
    }
  }
  jpeg_finish_decompress(info);
  return true;
}

class Decompressor {
 public:
  Decompressor() { info_.err = start(errors_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { jpeg_destroy_decompress(&info_); }

  Status header(std::string_view bytes) { return read_header(&info_, &errors_, bytes) ? ok_status() : failed(); }
  int channels() const { return info_.num_components == 1 ? 1 : 3; }
  const jpeg_decompress_struct& info() const { return info_; }

  Result<Tensor> decode(const JpegDecoding& options) {
    const int wanted = options.channels != 0 ? options.channels : channels();
    if (!choose(&info_, &errors_, &options, wanted)) return failed();
    ARGOSY_ASSIGN_OR_RETURN(Tensor y,
                            decoded_image_memory(DType::kUint8, {info_.output_height, info_.output_width, wanted}));
    std::vector<unsigned char> line(std::size_t{info_.output_width} * 4);
    if (!read_rows(&info_, &errors_, y.data<std::uint8_t>(), line.data())) {
      check_interrupted();
      return failed();
    }
    if (errors_.truncated && !options.accept_truncated) return invalid_argument("Invalid JPEG data: it ends too early");
    return y;
  }

 private:
  Status failed() const { return invalid_argument("Invalid JPEG data: ", errors_.message); }

  jpeg_decompress_struct info_ = {};
  Errors errors_ = {};
};

bool write_rows(jpeg_compress_struct* info, Errors* errors, const Tensor* image, const JpegEncoding* options,
                unsigned char** bytes, unsigned long* size) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_create_compress(info);
  jpeg_mem_dest(info, bytes, size);
  info->image_height = static_cast<JDIMENSION>(image->shape()[0]);
  info->image_width = static_cast<JDIMENSION>(image->shape()[1]);
  info->input_components = static_cast<int>(image->shape()[2]);
  info->in_color_space = info->input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(info);
  if (options->optimize_size) info->optimize_coding = TRUE;
  info->density_unit = options->per_inch ? 1 : 2;
  info->X_density = static_cast<UINT16>(options->x_density);
  info->Y_density = static_cast<UINT16>(options->y_density);
  jpeg_set_quality(info, options->quality, TRUE);
  if (options->progressive) jpeg_simple_progression(info);
  if (!options->chroma_downsampling) {
    for (int i = 0; i < info->num_components; ++i) {
      info->comp_info[i].h_samp_factor = 1;
      info->comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_start_compress(info, TRUE);
  static constexpr char kXmp[] = "http://ns.adobe.com/xap/1.0/";
  if (!options->xmp.empty()) {
    jpeg_write_m_header(info, JPEG_APP0 + 1, static_cast<unsigned>(sizeof kXmp + options->xmp.size()));
    for (const char ch : kXmp) jpeg_write_m_byte(info, static_cast<unsigned char>(ch));
    for (const char ch : options->xmp) jpeg_write_m_byte(info, static_cast<unsigned char>(ch));
  }
  auto* line = image->raw_as<unsigned char>();
  while (info->next_scanline < info->image_height) {
    jpeg_write_scanlines(info, &line, 1);
    line += info->image_width * static_cast<unsigned>(info->input_components);
  }
  jpeg_finish_compress(info);
  return true;
}

}  // namespace

Result<Tensor> decode_jpeg(std::string_view bytes, const JpegDecoding& options) {
  Decompressor jpeg;
  ARGOSY_RETURN_IF_ERROR(jpeg.header(bytes));
  return jpeg.decode(options);
}

Result<std::array<int, 3>> jpeg_shape(std::string_view bytes) {
  Decompressor jpeg;
  ARGOSY_RETURN_IF_ERROR(jpeg.header(bytes));
  return std::array<int, 3>{static_cast<int>(jpeg.info().image_height), static_cast<int>(jpeg.info().image_width),
                            jpeg.info().num_components};
}

Result<std::string> encode_jpeg(const Tensor& image, const JpegEncoding& options) {
  if (image.shape()[0] > JPEG_MAX_DIMENSION || image.shape()[1] > JPEG_MAX_DIMENSION) {
    return invalid_argument("a JPEG has at most ", JPEG_MAX_DIMENSION, " rows and columns, not ", image.shape());
  }
  constexpr std::size_t kMostMetadata = 65000;
  if (options.xmp.size() > kMostMetadata) return invalid_argument("more than ", kMostMetadata, " bytes of metadata");
  jpeg_compress_struct info = {};
  Errors errors = {};
  info.err = start(errors);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool written = write_rows(&info, &errors, &image, &options, &bytes, &size);
  Result<std::string> result = invalid_argument("JPEG: ", errors.message);
  if (written) result = std::string(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);  // libjpeg's own
  return result;
}

}  // namespace argosy::data
