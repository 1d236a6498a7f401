// Definitions: boxes of images.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/shape/shape.h"

namespace argosy::image {

namespace {

// Boxes [n, 4] and the image of each, [n]: how many.
Result<std::int64_t> boxes_of(const ShapeContext& c, int boxes, int index) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(boxes, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape i, c.with_rank(index, 1));
  if (b[1] >= 0 && b[1] != 4) return invalid_argument(c.op().name, ": boxes must have 4 columns, not shape ", b);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape count, PartialShape{b[0]}.merge(i));
  return count[0];
}

Status crop_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape image, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, boxes_of(c, 1, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape size, c.with_rank(3, 1));
  if (size[0] >= 0 && size[0] != 2) return invalid_argument("CropAndResize: crop_size must have two elements");
  const auto axis = [&](int k) { return c.int_at(3, k).value_or(PartialShape::kUnknown); };
  if (c.int_at(3, 0).value_or(1) <= 0 || c.int_at(3, 1).value_or(1) <= 0) {
    return invalid_argument("CropAndResize: crop dimensions must be positive, not ", axis(0), " x ", axis(1));
  }
  c.set_output(0, PartialShape{count, axis(0), axis(1), image[3]});
  return ok_status();
}

Status crop_grad_image_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 4).status());
  ARGOSY_RETURN_IF_ERROR(boxes_of(c, 1, 2).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape image, c.input_as_shape(3).merge(PartialShape::unknown_of_rank(4)));
  c.set_output(0, std::move(image));
  return ok_status();
}

Status crop_grad_boxes_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 4).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 4).status());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, boxes_of(c, 2, 3));
  c.set_output(0, PartialShape{count, 4});
  return ok_status();
}

std::vector<Value> crop_gradient(GradContext& g) {
  const std::string& method = g.attrs().get_string("method");
  std::vector<Value> dx(4);
  if (is_floating(g.x(0).dtype())) {
    dx[0] = g.graph().add("CropAndResizeGradImage", {g.dy(), g.x(1), g.x(2), shape(g.x(0))},
                          {{"T", g.x(0).dtype()}, {"method", method}});
  }
  // Of the nearest pixel there is no slope; TensorFlow takes that of the linear kind all the same.
  dx[1] = g.graph().add("CropAndResizeGradBoxes", {g.dy(), g.x(0), g.x(1), g.x(2)});
  return dx;
}

}  // namespace

void define_crop(OpRegistry& ops) {
  ops.add({.name = "CropAndResize",
           .doc = "Boxes of images, resized.",
           .inputs = {"image: T", "boxes: float", "box_ind: int32", "crop_size: int32"},
           .outputs = {"crops: float"},
           .attrs = {"T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
                     "method: {'bilinear', 'nearest'} = 'bilinear'", "extrapolation_value: float = 0"},
           .shape = crop_shape,
           .gradient = crop_gradient,
           .sharding = "n h w c, m 1, m, . -> m t u c; rows n; whole h w t u c",
           .host_inputs = {3}});
  ops.add({.name = "CropAndResizeGradImage",
           .doc = "What flows back through CropAndResize into the images.",
           .inputs = {"grads: float", "boxes: float", "box_ind: int32", "image_size: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: {float, half, double}", "method: {'bilinear', 'nearest'} = 'bilinear'"},
           .shape = crop_grad_image_shape,
           .gradient = kNotDifferentiable,
           .sharding = "m t u c, m 1, m, size(0) -> n h w c; rows n; sum m; whole h w t u c; linear 0",
           .host_inputs = {3}});
  ops.add({.name = "CropAndResizeGradBoxes",
           .doc = "What flows back through CropAndResize into the boxes.",
           .inputs = {"grads: float", "image: T", "boxes: float", "box_ind: int32"},
           .outputs = {"output: float"},
           .attrs = {"T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
                     "method: {'bilinear'} = 'bilinear'"},
           .shape = crop_grad_boxes_shape,
           .gradient = kNotDifferentiable,
           .sharding = "m t u c, n h w c, m 1, m -> m 1; rows n; whole t u h w c; linear 0"});
}

}  // namespace argosy::image
