#include "argosy/data/image/image.h"

#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include "argosy/base/system/file.h"
#include "argosy/tensor/string_budget.h"

namespace argosy::data {

namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

Result<Tensor> image_memory(std::int64_t height, std::int64_t width, int channels) {
  if (height < 1 || width < 1 || height > kMostPixels || width > kMostPixels || height * width > kMostPixels) {
    return data_loss("an image of ", width, " x ", height, " pixels; at most 2^26 are read").with_id("ARG-DATA-008");
  }
  return allocate_reserved(HostUse::kImages, DType::kUint8, {height, width, channels}, "a decoded image");
}

Result<Tensor> decode_png(std::string_view bytes, int channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const auto failed = [&] {
    Status status = data_loss("not a readable PNG: ", image.message).with_id("ARG-DATA-008");
    png_image_free(&image);
    return status;
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return failed();
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Result<Tensor> to = image_memory(image.height, image.width, channels);
  if (!to.ok()) {
    png_image_free(&image);
    return to;
  }
  const png_color black = {};
  if (png_image_finish_read(&image, &black, to->raw(), 0, nullptr) == 0) return failed();
  return to;
}

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->leave, 1);
}

// libjpeg reports errors by longjmp, so this function may have no objects with destructors.
bool read_jpeg_header(jpeg_decompress_struct* info, JpegErrors* errors, std::string_view bytes, int channels) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_create_decompress(info);
  jpeg_mem_src(info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(info, TRUE);
  info->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(info);
  return true;
}
bool read_jpeg_rows(jpeg_decompress_struct* info, JpegErrors* errors, unsigned char* to) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_start_decompress(info);
  const std::size_t row = std::size_t{info->output_width} * static_cast<std::size_t>(info->output_components);
  while (info->output_scanline < info->output_height) {
    unsigned char* line = to + row * info->output_scanline;
    jpeg_read_scanlines(info, &line, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

Result<Tensor> decode_jpeg(std::string_view bytes, int channels) {
  jpeg_decompress_struct info = {};
  JpegErrors errors = {};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave_jpeg;
  errors.manager.output_message = [](j_common_ptr) {};
  const auto failed = [&] { return data_loss("not a readable JPEG: ", errors.message).with_id("ARG-DATA-008"); };
  Result<Tensor> image = failed();
  if (!read_jpeg_header(&info, &errors, bytes, channels)) {
    image = failed();
  } else {
    image = image_memory(info.output_height, info.output_width, channels);
    if (image.ok() && !read_jpeg_rows(&info, &errors, image->data<std::uint8_t>())) {
      image = failed();
    } else if (image.ok() && errors.manager.num_warnings > 0) {
      // libjpeg paints missing pixels grey and only warns; for training that is damage.
      errors.manager.format_message(reinterpret_cast<j_common_ptr>(&info), errors.message);
      image = failed();
    }
  }
  jpeg_destroy_decompress(&info);
  return image;
}

// The source pixels of one target pixel along an axis, with weights that add up to 1.
struct Taps {
  std::int64_t begin;
  std::vector<float> weights;
};

std::vector<Taps> make_taps(std::int64_t from, std::int64_t to) {
  std::vector<Taps> taps(static_cast<std::size_t>(to));
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(ratio, 1.0);  // half-width of the triangle
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * ratio - 0.5;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(centre - reach)));
    const auto last = std::min<std::int64_t>(from - 1, static_cast<std::int64_t>(std::floor(centre + reach)));
    Taps& t = taps[static_cast<std::size_t>(i)];
    t.begin = first;
    double sum = 0;
    for (std::int64_t k = first; k <= last; ++k) {
      const double weight = std::max(0.0, 1.0 - std::abs(static_cast<double>(k) - centre) / reach);
      t.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : t.weights) weight = static_cast<float>(weight / sum);
  }
  return taps;
}

}  // namespace

Result<std::string> encode_png(const Tensor& image) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kUint8 || shape.rank() != 3 || shape.elements() == 0 ||
      shape[0] * shape[1] > kMostPixels || (shape[2] != 1 && shape[2] != 3 && shape[2] != 4)) {
    return invalid_argument("a PNG is made from uint8[height,width,1|3|4], not ", dtype_name(image.dtype()), shape)
        .with_id("ARG-DATA-008");
  }
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(shape[1]);
  png.height = static_cast<png_uint_32>(shape[0]);
  png.format = shape[2] == 1 ? PNG_FORMAT_GRAY : shape[2] == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  // Half a percent and a little more than the raw size is libpng's own bound; asking it first would encode twice.
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&png, bytes.data(), &size, 0, image.raw(), 0, nullptr) == 0) {
    return internal_error("PNG: ", png.message);
  }
  bytes.resize(size);
  return bytes;
}

Status write_png(const std::string& path, const Tensor& image) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, encode_png(image));
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(path));
  ARGOSY_RETURN_IF_ERROR(file.write(bytes));
  return file.close();
}

Result<Tensor> decode_image(std::string_view bytes, int channels) {
  ARGOSY_CHECK(channels == 1 || channels == 3);
  if (bytes.starts_with("\x89PNG")) return decode_png(bytes, channels);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, channels);
  return data_loss("neither PNG nor JPEG").with_id("ARG-DATA-008");
}

namespace {

template <typename T>
void resize_rows(const T* from, const Shape& shape, float scale, std::int64_t height, std::int64_t width, float* to) {
  const std::int64_t source_width = shape[1];
  const std::int64_t channels = shape[2];
  const std::vector<Taps> rows = make_taps(shape[0], height);
  const std::vector<Taps> columns = make_taps(source_width, width);
  std::vector<float> line(static_cast<std::size_t>(source_width * channels));  // the rows, already weighted
  for (const Taps& row : rows) {
    std::fill(line.begin(), line.end(), 0.0f);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const T* source = from + (row.begin + static_cast<std::int64_t>(k)) * source_width * channels;
      for (std::size_t x = 0; x < line.size(); ++x) line[x] += row.weights[k] * scale * static_cast<float>(source[x]);
    }
    for (const Taps& column : columns) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < column.weights.size(); ++k) {
          const std::int64_t x = column.begin + static_cast<std::int64_t>(k);
          sum += column.weights[k] * line[static_cast<std::size_t>(x * channels + c)];
        }
        *to++ = sum;
      }
    }
  }
}

}  // namespace

void resize_to_float(const Tensor& image, std::int64_t height, std::int64_t width, float* to) {
  resize_rows(image.data<std::uint8_t>(), image.shape(), 1 / 255.0f, height, width, to);
}

void resize_floats(const float* image, const Shape& shape, std::int64_t height, std::int64_t width, float* to) {
  resize_rows(image, shape, 1.0f, height, width, to);
}

}  // namespace argosy::data
