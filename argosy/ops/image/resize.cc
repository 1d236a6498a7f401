// Definitions: images of another size.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"

namespace argosy::image {

namespace {

Status resize_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape images, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape size, c.with_rank(1, 1));
  if (size[0] >= 0 && size[0] != 2) {
    return invalid_argument(c.op().name, ": a size is [height, width], not of shape ", size);
  }
  const auto axis = [&](int k) { return c.int_at(1, k).value_or(PartialShape::kUnknown); };
  if (c.int_at(1, 0).value_or(1) <= 0 || c.int_at(1, 1).value_or(1) <= 0) {
    return invalid_argument(c.op().name, ": output dimensions must be positive, not ", axis(0), " x ", axis(1));
  }
  c.set_output(0, PartialShape{images[0], axis(0), axis(1), images[3]});
  return ok_status();
}

Status resize_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 4).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape image, c.with_rank(1, 4));
  c.set_output(0, std::move(image));
  return ok_status();
}

AttrMap how(GradContext& g) {
  return {{"align_corners", g.attrs().get_bool("align_corners")},
          {"half_pixel_centers", g.attrs().get_bool("half_pixel_centers")}};
}
std::vector<Value> bilinear_gradient(GradContext& g) {
  return {g.graph().add("ResizeBilinearGrad", {g.dy(), g.x(0)}, how(g)), Value()};
}
std::vector<Value> bicubic_gradient(GradContext& g) {
  return {g.graph().add("ResizeBicubicGrad", {g.dy(), g.x(0)}, how(g)), Value()};
}
std::vector<Value> nearest_gradient(GradContext& g) {
  const Value size = slice(shape(g.x(0)), {1}, {2});
  return {g.graph().add("ResizeNearestNeighborGrad", {g.dy(), size}, how(g)), Value()};
}
std::vector<Value> scale_gradient(GradContext& g) {
  const Value image = cast(g.x(0), DType::kFloat32);
  const Value dx = g.graph().add(
      "ScaleAndTranslateGrad", {g.dy(), image, g.x(2), g.x(3)},
      {{"kernel_type", g.attrs().get_string("kernel_type")}, {"antialias", g.attrs().get_bool("antialias")}});
  return {cast(dx, g.x(0).dtype()), Value(), Value(), Value()};
}

}  // namespace

void define_resize(OpRegistry& ops) {
  ops.add({.name = "ResizeBilinear",
           .doc = "Images of another size, by linear interpolation.",
           .inputs = {"images: T", "size: int32"},
           .outputs = {"resized_images: float"},
           .attrs = {"T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
                     "align_corners: bool = false", "half_pixel_centers: bool = false"},
           .shape = resize_shape,
           .gradient = bilinear_gradient,
           .sharding = "n h w c, . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "ResizeBilinearGrad",
           .doc = "What flows back through ResizeBilinear.",
           .inputs = {"grads: float", "original_image: T"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "align_corners: bool = false", "half_pixel_centers: bool = false"},
           .shape = resize_grad_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "n t u c, n h w c -> n h w c; whole h w t u c; linear 0"});
  ops.add({.name = "ResizeNearestNeighbor",
           .doc = "Images of another size, by the nearest pixel.",
           .inputs = {"images: T", "size: int32"},
           .outputs = {"resized_images: T"},
           .attrs = {"T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
                     "align_corners: bool = false", "half_pixel_centers: bool = false"},
           .shape = resize_shape,
           .gradient = nearest_gradient,
           .sharding = "n h w c, . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "ResizeNearestNeighborGrad",
           .doc = "What flows back through ResizeNearestNeighbor.",
           .inputs = {"grads: T", "size: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: {uint8, int8, int32, half, float, double, bfloat16}", "align_corners: bool = false",
                     "half_pixel_centers: bool = false"},
           .shape = resize_shape,
           .gradient = kNotDifferentiable,
           .sharding = "n h w c, . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "ResizeBicubic",
           .doc = "Images of another size, by cubic interpolation.",
           .inputs = {"images: T", "size: int32"},
           .outputs = {"resized_images: float"},
           .attrs = {"T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
                     "align_corners: bool = false", "half_pixel_centers: bool = false"},
           .shape = resize_shape,
           .gradient = bicubic_gradient,
           .cpu_only = true,
           .sharding = "n h w c, . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "ResizeBicubicGrad",
           .doc = "What flows back through ResizeBicubic.",
           .inputs = {"grads: float", "original_image: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {float, double}", "align_corners: bool = false", "half_pixel_centers: bool = false"},
           .shape = resize_grad_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n t u c, n h w c -> n h w c; whole h w t u c; linear 0"});
  ops.add({.name = "ResizeArea",
           .doc = "Images of another size, each pixel the mean of the area it covers.",
           .inputs = {"images: T", "size: int32"},
           .outputs = {"resized_images: float"},
           .attrs = {"T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
                     "align_corners: bool = false"},
           .shape = resize_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n h w c, . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "ScaleAndTranslate",
           .doc = "Images scaled and moved, by a kernel.",
           .inputs = {"images: T", "size: int32", "scale: float", "translation: float"},
           .outputs = {"resized_images: float"},
           .attrs = {"T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
                     "kernel_type: string = 'lanczos3'", "antialias: bool = true"},
           .shape = resize_shape,
           .gradient = scale_gradient,
           .cpu_only = true,
           .sharding = "n h w c, ., ., . -> n t u c; whole h w t u c; linear 0",
           .host_inputs = {1, 2, 3}});
  ops.add({.name = "ScaleAndTranslateGrad",
           .doc = "What flows back through ScaleAndTranslate.",
           .inputs = {"grads: T", "original_image: T", "scale: float", "translation: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {float}", "kernel_type: string = 'lanczos3'", "antialias: bool = true"},
           .shape = resize_grad_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n t u c, n h w c, ., . -> n h w c; whole h w t u c; linear 0",
           .host_inputs = {2, 3}});
}

}  // namespace argosy::image
