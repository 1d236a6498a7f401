#include "argosy/ops/image/image.h"

#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_image_ops(OpRegistry& ops) {
  image::define_codec(ops);
  image::define_resize(ops);
  image::define_crop(ops);
  image::define_colour(ops);
  image::define_boxes(ops);
  image::define_patches(ops);
  image::define_resampler(ops);
}

void define_image(OpRegistry& ops) { with_sharding(ops, add_image_ops, {}, "whole: it reads or writes one picture"); }

namespace {

Value one(const char* op, std::vector<Value> inputs, AttrMap attrs = {}) {
  if (!inputs[0].valid()) return {};
  Graph& graph = inputs[0].graph();
  return graph.add(op, std::move(inputs), std::move(attrs));
}
AttrMap resize_attrs(ResizeOptions options) {
  return {{"align_corners", options.align_corners}, {"half_pixel_centers", options.half_pixel_centers}};
}

}  // namespace

Value resize_bilinear(Value images, Value size, ResizeOptions options) {
  return one("ResizeBilinear", {images, size}, resize_attrs(options));
}
Value resize_nearest_neighbor(Value images, Value size, ResizeOptions options) {
  return one("ResizeNearestNeighbor", {images, size}, resize_attrs(options));
}
Value resize_bicubic(Value images, Value size, ResizeOptions options) {
  return one("ResizeBicubic", {images, size}, resize_attrs(options));
}
Value resize_area(Value images, Value size) { return one("ResizeArea", {images, size}); }

Value crop_and_resize(Value images, Value boxes, Value box_indices, Value crop_size, float extrapolation_value) {
  return one("CropAndResize", {images, boxes, box_indices, crop_size}, {{"extrapolation_value", extrapolation_value}});
}

Value rgb_to_hsv(Value images) { return one("RGBToHSV", {images}); }
Value hsv_to_rgb(Value images) { return one("HSVToRGB", {images}); }

Value decode_jpeg(Value contents, int channels) { return one("DecodeJpeg", {contents}, {{"channels", channels}}); }
Value decode_png(Value contents, int channels, DType dtype) {
  return one("DecodePng", {contents}, {{"channels", channels}, {"dtype", dtype}});
}
Value encode_jpeg(Value image, int quality) { return one("EncodeJpeg", {image}, {{"quality", quality}}); }
Value encode_png(Value image) { return one("EncodePng", {image}); }

}  // namespace argosy
