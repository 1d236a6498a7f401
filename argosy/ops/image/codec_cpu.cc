// Kernels: files' bytes to pixels and back, by the codecs of argosy/data.
#include "argosy/base/narrow.h"
#include "argosy/data/files/codec.h"

#include <algorithm>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/tensor/ints.h"

namespace argosy::image {

namespace {

using data::ImageFormat;

struct Asked {
  static Result<Asked> read(const KernelInit& init) {
    const AttrMap& attrs = init.attrs;
    Asked a{.op = init.op.name};
    a.channels = saturated_int(attrs.get_or<std::int64_t>("channels", 0));
    if (a.channels != 0 && a.channels != 1 && a.channels != 3 && a.channels != 4) {
      return invalid_argument("channels must be 0, 1, 3 or 4 but got ", a.channels);
    }
    if (a.op == "DecodeGif") a.channels = 3;
    a.expand = a.op == "DecodeGif" || (a.op == "DecodeImage" && attrs.get_bool("expand_animations"));
    a.dtype = init.output_dtypes[0];
    if (a.op != "DecodeJpeg" && a.op != "DecodeAndCropJpeg") return a;
    if (a.channels == 4) return invalid_argument("JPEG does not support 4 channels");
    const std::int64_t ratio = attrs.get_int("ratio");
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
      return invalid_argument("ratio must be 1, 2, 4, or 8, got ", ratio);
    }
    const std::string& dct = attrs.get_string("dct_method");
    if (!dct.empty() && dct != "INTEGER_FAST" && dct != "INTEGER_ACCURATE") {
      return invalid_argument("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, not ", dct);
    }
    a.jpeg = {.ratio = static_cast<int>(ratio),
              .fancy_upscaling = attrs.get_bool("fancy_upscaling"),
              .accept_truncated = attrs.get_bool("try_recover_truncated")};
    a.fast_dct = dct != "INTEGER_ACCURATE";
    return a;
  }

  std::string op;
  int channels = 0;
  bool expand = false;   // all frames of a GIF
  bool fast_dct = true;  // TensorFlow's default
  DType dtype = DType::kUint8;
  data::JpegDecoding jpeg = {};
};

// Converts 8-bit pixels to the requested dtype.
Result<Tensor> as_dtype(const Tensor& pixels, DType dtype) {
  if (pixels.dtype() == dtype) return pixels;
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, Tensor::allocate(dtype, pixels.shape(), host_allocator()));
  const std::int64_t n = pixels.elements();
  if (pixels.dtype() == DType::kUint16) {
    const auto* const from = pixels.data<std::uint16_t>();
    std::transform(from, from + n, y.data<float>(), [](std::uint16_t v) { return static_cast<float>(v) / 65535.0f; });
    return y;
  }
  const auto* const from = pixels.data<std::uint8_t>();
  if (dtype == DType::kUint16) {
    std::transform(from, from + n, y.data<std::uint16_t>(),
                   [](std::uint8_t v) { return static_cast<std::uint16_t>(v << 8); });
  } else {
    std::transform(from, from + n, y.data<float>(), [](std::uint8_t v) { return static_cast<float>(v) / 255.0f; });
  }
  return y;
}

Status wrong_op(const Asked& asked, std::string_view format, std::string_view right) {
  return invalid_argument("Trying to decode ", format, " format using ", asked.op, ". Use `", right,
                          "` or `decode_image` instead.");
}

Result<Tensor> pixels_of(const Asked& asked, std::string_view bytes) {
  const bool bmp_only = asked.op == "DecodeBmp", crop = asked.op == "DecodeAndCropJpeg";
  const ImageFormat format = data::image_format(bytes);
  if (crop && format != ImageFormat::kJpeg && format != ImageFormat::kUnknown) {
    return invalid_argument("DecodeAndCropJpeg operation can run on JPEG only");
  }
  switch (format) {
    case ImageFormat::kJpeg: {
      if (bmp_only) return wrong_op(asked, "JPEG", "decode_jpeg");
      if (asked.channels == 4) return invalid_argument("JPEG does not support 4 channels");
      data::JpegDecoding options = asked.jpeg;
      options.channels = asked.channels;
      options.fast_dct = asked.fast_dct;
      return data::decode_jpeg(bytes, options);
    }
    case ImageFormat::kPng: {
      if (bmp_only) return wrong_op(asked, "PNG", "decode_png");
      return data::decode_png(bytes, asked.channels, asked.dtype == DType::kUint8 ? DType::kUint8 : DType::kUint16);
    }
    case ImageFormat::kGif: {
      if (bmp_only) return wrong_op(asked, "GIF", "decode_gif");
      if (asked.channels != 0 && asked.channels != 3) {
        return invalid_argument("channels must be 0 or 3 for GIF, got ", asked.channels);
      }
      ARGOSY_ASSIGN_OR_RETURN(const Tensor frames, data::decode_gif(bytes));
      if (asked.expand) return frames;
      if (frames.shape()[0] != 1 && asked.op != "DecodeImage") {
        return invalid_argument("Got ", frames.shape()[0], " frames, but animated gifs can only be decoded by ",
                                "tf.io.decode_gif or tf.io.decode_image");
      }
      return frames.rows(0, 1).reshaped(frames.shape().removed(0));
    }
    case ImageFormat::kBmp: {
      if (!bmp_only && asked.op != "DecodeImage") return wrong_op(asked, "BMP", "decode_bmp");
      if (asked.channels == 1) return invalid_argument("channels must be 0, 3 or 4 for BMP, but got 1");
      return data::decode_bmp(bytes, asked.channels);
    }
    case ImageFormat::kUnknown: break;
  }
  return invalid_argument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
}

// Rows and columns of a window [y, x, height, width].
Result<Tensor> cropped(const Tensor& x, const Tensor& window) {
  ARGOSY_ASSIGN_OR_RETURN(const Ints w, read_ints(window, "crop_window"));
  if (window.shape() != Shape{4})
    return invalid_argument("crop_window must have four elements, not shape ", window.shape());
  const std::int64_t height = x.shape()[0], width = x.shape()[1], channels = x.shape()[2];
  if (w[0] < 0 || w[1] < 0 || w[2] <= 0 || w[3] <= 0 || w[0] + w[2] > height || w[1] + w[3] > width) {
    return invalid_argument("Invalid JPEG data or crop window: ", w, " of ", height, " x ", width);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, Tensor::allocate(x.dtype(), {w[2], w[3], channels}, host_allocator()));
  for (std::int64_t row = 0; row < w[2]; ++row) {
    const auto* const from = x.data<std::uint8_t>() + ((w[0] + row) * width + w[1]) * channels;
    std::copy_n(from, w[3] * channels, y.data<std::uint8_t>() + row * w[3] * channels);
  }
  return y;
}

class Decode final : public Kernel {
 public:
  explicit Decode(Asked asked) : asked_(std::move(asked)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Asked asked, Asked::read(init));
    return std::unique_ptr<Kernel>(std::make_unique<Decode>(std::move(asked)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view bytes, one_string(c, 0, "contents"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor pixels, pixels_of(asked_, bytes));
    if (asked_.op == "DecodeAndCropJpeg") {
      ARGOSY_ASSIGN_OR_RETURN(pixels, cropped(pixels, c.input(1)));
    }
    if (asked_.op == "DecodeGif" && pixels.shape().rank() == 3) {  // one frame, from another kind of file
      pixels = pixels.reshaped(pixels.shape().inserted(0, 1));
    }
    ARGOSY_ASSIGN_OR_RETURN(const Tensor converted, as_dtype(pixels, asked_.dtype));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, converted.shape()));
    copy_elements(*y, converted);
    return ok_status();
  }

 private:
  const Asked asked_;
};

Status jpeg_shape(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string_view bytes, one_string(c, 0, "contents"));
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, data::jpeg_shape(bytes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {3}));
  return dispatch<IndexTypes>(y->dtype(), "ExtractJpegShape", [&]<typename T>() {
    std::copy(sizes.begin(), sizes.end(), y->data<T>());
    return ok_status();
  });
}

// --- encoding --------------------------------------------------------------------------------------------------------

Status encode_jpeg_as(KernelContext& c, const std::string& format, const data::JpegEncoding& options) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() != 3) return invalid_argument("image must be 3-dimensional, not ", x.shape());
  const std::int64_t channels = x.shape()[2];
  if (channels != 1 && channels != 3) return invalid_argument("image must have 1 or 3 channels, got ", x.shape());
  if (!format.empty() && channels != (format == "rgb" ? 3 : 1)) {
    return invalid_argument("format ", format, " expects ", format == "rgb" ? 3 : 1, " channels, got ", x.shape());
  }
  if (options.quality < 0 || options.quality > 100) {
    return invalid_argument("quality must be in [0,100], got ", options.quality);
  }
  if (x.elements() == 0) return internal_error("JPEG encoding failed: there are no pixels in ", x.shape());
  ARGOSY_ASSIGN_OR_RETURN(std::string bytes, data::encode_jpeg(x, options));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = std::move(bytes);
  return ok_status();
}

int clipped(std::int64_t v) { return static_cast<int>(std::clamp<std::int64_t>(v, -1, 1 << 20)); }

Status encode_jpeg(KernelContext& c, const AttrMap& attrs) {
  const std::int64_t x = attrs.get_int("x_density"), y = attrs.get_int("y_density");
  if (x < 0 || y < 0 || x > 65535 || y > 65535)
    return invalid_argument("densities must be in [0,65535], got ", x, " and ", y);
  return encode_jpeg_as(c, attrs.get_string("format"),
                        {.quality = clipped(attrs.get_int("quality")),
                         .progressive = attrs.get_bool("progressive"),
                         .optimize_size = attrs.get_bool("optimize_size"),
                         .chroma_downsampling = attrs.get_bool("chroma_downsampling"),
                         .per_inch = attrs.get_string("density_unit") == "in",
                         .x_density = static_cast<int>(x),
                         .y_density = static_cast<int>(y),
                         .xmp = attrs.get_string("xmp_metadata")});
}

Status encode_jpeg_variable(KernelContext& c) {
  if (c.input(1).shape().rank() != 0)
    return invalid_argument("quality must be a scalar, not of shape ", c.input(1).shape());
  return encode_jpeg_as(c, "", {.quality = *c.input(1).data<std::int32_t>()});
}

Status encode_png(KernelContext& c, const AttrMap& attrs) {
  const std::int64_t compression = attrs.get_int("compression");
  if (compression < -1 || compression > 9)
    return invalid_argument("compression should be in [-1,9], got ", compression);
  const Tensor& x = c.input(0);
  const int rank = x.shape().rank();
  if (rank < 3) return invalid_argument("image must be at least 3-dimensional, not ", x.shape());
  const std::int64_t height = x.shape()[rank - 3], width = x.shape()[rank - 2], channels = x.shape()[rank - 1];
  if (channels < 1 || channels > 4) return invalid_argument("image must have 1, 2, 3, or 4 channels, got ", channels);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y,
                          c.output(0, Shape(x.shape().sizes().first(static_cast<std::size_t>(rank - 3)))));
  const std::size_t each = static_cast<std::size_t>(height * width * channels) * element_bytes(x.dtype());
  for (std::int64_t i = 0; i < y->elements(); ++i) {
    if (each == 0) return internal_error("PNG encoding failed: there are no pixels in ", x.shape());
    const char* const from = static_cast<const char*>(x.raw()) + static_cast<std::size_t>(i) * each;
    ARGOSY_ASSIGN_OR_RETURN(
        y->data<std::string>()[i],
        data::encode_png(from, x.dtype(), height, width, static_cast<int>(channels), static_cast<int>(compression)));
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_codec(KernelRegistry& kernels) {
  for (const char* op : {"DecodeJpeg", "DecodePng", "DecodeGif", "DecodeBmp", "DecodeImage", "DecodeAndCropJpeg"}) {
    kernels.add(op, "cpu", Decode::make);
  }
  kernels.add("ExtractJpegShape", "cpu", jpeg_shape);
  kernels.add("EncodeJpeg", "cpu", AttrKernel<encode_jpeg>::make);
  kernels.add("EncodeJpegVariableQuality", "cpu", encode_jpeg_variable);
  kernels.add("EncodePng", "cpu", AttrKernel<encode_png>::make);
}

}  // namespace argosy::image
