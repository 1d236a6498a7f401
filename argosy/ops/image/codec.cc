// Definitions: files' bytes to pixels and back.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

Status check_channels(const ShapeContext& c) {
  const std::int64_t channels = c.attrs().get_int("channels");
  const bool jpeg = c.op().name.ends_with("Jpeg");
  if (channels == 0 || channels == 1 || channels == 3 || (channels == 4 && !jpeg)) return ok_status();
  return invalid_argument(c.op().name, ": channels must be 0, 1, 3", jpeg ? "" : " or 4", ", not ", channels);
}

// Of a GIF there may be several frames: then DecodeImage says nothing beforehand.
Status decode_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  ARGOSY_RETURN_IF_ERROR(check_channels(c));
  if (c.op().name == "DecodeImage" && c.attrs().get_bool("expand_animations")) return ok_status();
  const std::int64_t channels = c.attrs().get_int("channels");
  c.set_output(0, PartialShape{kUnknownSize, kUnknownSize, channels == 0 ? kUnknownSize : channels});
  return ok_status();
}

Status decode_gif_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape{kUnknownSize, kUnknownSize, kUnknownSize, 3});
  return ok_status();
}

Status decode_crop_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  ARGOSY_RETURN_IF_ERROR(check_channels(c));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  const auto size = [&](int k) {
    const auto known = c.int_at(1, k);
    return known && *known >= 0 ? *known : kUnknownSize;
  };
  const std::int64_t channels = c.attrs().get_int("channels");
  c.set_output(0, PartialShape{size(2), size(3), channels == 0 ? kUnknownSize : channels});
  return ok_status();
}

Status encode_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 3).status());
  return scalar_output(c);
}

Status encode_quality_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  return encode_shape(c);
}

Status encode_png_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() < 3) return invalid_argument("EncodePng: image must be at least 3-dimensional, not ", x);
  c.set_output(0, PartialShape(std::vector<std::int64_t>(x.sizes().begin(), x.sizes().end() - 3)));
  return ok_status();
}

Status jpeg_shape_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape{3});
  return ok_status();
}

}  // namespace

void define_codec(OpRegistry& ops) {
  ops.add(
      {.name = "DecodeJpeg",
       .doc = "The pixels of a JPEG (or PNG).",
       .inputs = {"contents: string"},
       .outputs = {"image: uint8"},
       .attrs = {"channels: int = 0", "ratio: int = 1", "fancy_upscaling: bool = true",
                 "try_recover_truncated: bool = false", "acceptable_fraction: float = 1", "dct_method: string = ''"},
       .shape = decode_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add({.name = "DecodePng",
           .doc = "The pixels of a PNG (or JPEG).",
           .inputs = {"contents: string"},
           .outputs = {"image: dtype"},
           .attrs = {"channels: int = 0", "dtype: {uint8, uint16} = uint8"},
           .shape = decode_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "DecodeGif",
           .doc = "All frames of a GIF.",
           .inputs = {"contents: string"},
           .outputs = {"image: uint8"},
           .shape = decode_gif_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "DecodeBmp",
           .doc = "The pixels of a BMP.",
           .inputs = {"contents: string"},
           .outputs = {"image: uint8"},
           .attrs = {"channels: int = 0"},
           .shape = decode_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "DecodeImage",
           .doc = "The pixels of a JPEG, PNG, GIF or BMP.",
           .inputs = {"contents: string"},
           .outputs = {"image: dtype"},
           .attrs = {"channels: int = 0", "dtype: {uint8, uint16, float} = uint8", "expand_animations: bool = true"},
           .shape = decode_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add(
      {.name = "DecodeAndCropJpeg",
       .doc = "A window of the pixels of a JPEG.",
       .inputs = {"contents: string", "crop_window: int32"},
       .outputs = {"image: uint8"},
       .attrs = {"channels: int = 0", "ratio: int = 1", "fancy_upscaling: bool = true",
                 "try_recover_truncated: bool = false", "acceptable_fraction: float = 1", "dct_method: string = ''"},
       .shape = decode_crop_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true,
       .host_inputs = {1}});
  ops.add(
      {.name = "EncodeJpeg",
       .doc = "An image as a JPEG.",
       .inputs = {"image: uint8"},
       .outputs = {"contents: string"},
       .attrs = {"format: {'', 'grayscale', 'rgb'} = ''", "quality: int = 95", "progressive: bool = false",
                 "optimize_size: bool = false", "chroma_downsampling: bool = true", "density_unit: {'in', 'cm'} = 'in'",
                 "x_density: int = 300", "y_density: int = 300", "xmp_metadata: string = ''"},
       .shape = encode_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add({.name = "EncodeJpegVariableQuality",
           .doc = "An image as a JPEG of the quality given.",
           .inputs = {"images: uint8", "quality: int32"},
           .outputs = {"contents: string"},
           .shape = encode_quality_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "EncodePng",
           .doc = "An image as a PNG, or each of a batch.",
           .inputs = {"image: T"},
           .outputs = {"contents: string"},
           .attrs = {"compression: int = -1", "T: {uint8, uint16} = uint8"},
           .shape = encode_png_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "ExtractJpegShape",
           .doc = "Height, width and channels of a JPEG, without decoding it.",
           .inputs = {"contents: string"},
           .outputs = {"image_shape: output_type"},
           .attrs = {"output_type: index = int32"},
           .shape = jpeg_shape_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
}

}  // namespace argosy::image
