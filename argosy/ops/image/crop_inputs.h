// Checks of the inputs of CropAndResize and its gradients, for every kind of device. Private to this folder.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/image/image_checks.h"

namespace argosy::image {

// INVALID_ARGUMENT unless boxes are [n, 4] and index [n]. OUT_OF_RANGE unless every index, in host memory, is below
// `images`. Does not read the boxes, which may be in a GPU's memory.
inline Status check_boxes(const Shape& boxes, const Tensor& index, std::int64_t images) {
  if (boxes.rank() != 2 || boxes[1] != 4) return invalid_argument("boxes are [n, 4], not of shape ", boxes);
  if (index.shape() != Shape{boxes[0]}) {
    return invalid_argument("box_index has incompatible shape: ", index.shape(), " for boxes of ", boxes);
  }
  for (const std::int32_t i : index.values<std::int32_t>()) {
    if (i < 0 || i >= images) return out_of_range("box_index has values outside [0, batch_size): ", i, " of ", images);
  }
  return ok_status();
}

// Checks CropAndResize(image, boxes, box_index, crop_size); returns the output's shape [n, height, width, channels].
inline Result<Shape> check_crop(const KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "CropAndResize"));
  ARGOSY_RETURN_IF_ERROR(check_boxes(c.input(1).shape(), c.input(2), x.shape()[0]));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(3), "CropAndResize"));
  return Shape::make(std::vector<std::int64_t>{c.input(1).shape()[0], size[0], size[1], x.shape()[3]});
}

// Checks CropAndResizeGradImage(grads, boxes, box_index, image_size); returns the shape of the images.
inline Result<Shape> check_crop_grad_image(const KernelContext& c) {
  const Tensor& dy = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "CropAndResizeGradImage", false));
  if (c.input(3).shape() != Shape{4}) {
    return invalid_argument("image_size must have 4 elements, not shape ", c.input(3).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(3), "CropAndResizeGradImage: image_size"));
  if (shape[1] == 0 || shape[2] == 0 || shape[3] != dy.shape()[3]) {
    return invalid_argument("CropAndResizeGradImage: ", dy.shape(), " does not come from images of ", shape);
  }
  ARGOSY_RETURN_IF_ERROR(check_boxes(c.input(1).shape(), c.input(2), shape[0]));
  const std::int64_t boxes = c.input(1).shape()[0];
  if (dy.shape()[0] == boxes) return shape;
  return invalid_argument("CropAndResizeGradImage: ", dy.shape()[0], " crops of ", boxes, " boxes");
}

// Checks CropAndResizeGradBoxes(grads, image, boxes, box_index).
inline Status check_crop_grad_boxes(const KernelContext& c) {
  const Shape &dy = c.input(0).shape(), &x = c.input(1).shape(), &boxes = c.input(2).shape();
  ARGOSY_RETURN_IF_ERROR(check_images(c.input(0), "CropAndResizeGradBoxes", false));
  ARGOSY_RETURN_IF_ERROR(check_images(c.input(1), "CropAndResizeGradBoxes"));
  ARGOSY_RETURN_IF_ERROR(check_boxes(boxes, c.input(3), x[0]));
  if (dy[0] == boxes[0] && dy[3] == x[3]) return ok_status();
  return invalid_argument("CropAndResizeGradBoxes: ", dy, " does not come from ", x, " and ", boxes, " boxes");
}

}  // namespace argosy::image
