// Kernels: boxes drawn on images.
#include <algorithm>

#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

// The colours that boxes take in turn: yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
constexpr float kColours[10][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
                                   {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

Status draw(KernelContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& boxes = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "DrawBoundingBoxes", false));
  if (boxes.shape().rank() != 3 || boxes.shape()[2] != 4 || boxes.shape()[0] != x.shape()[0]) {
    return invalid_argument("boxes are [batch, n, 4], not of shape ", boxes.shape(), " for images of ", x.shape());
  }
  const std::int64_t height = x.shape()[1], width = x.shape()[2], depth = x.shape()[3];
  if (depth != 1 && depth != 3 && depth != 4) {
    return invalid_argument("channel depth should be either 1 (grayscale), 3 (RGB), or 4 (RGBA), not ", depth);
  }
  const Tensor* const given = c.num_inputs() > 2 && c.input(2).elements() > 0 ? &c.input(2) : nullptr;
  if (c.num_inputs() > 2 && (c.input(2).shape().rank() != 2 || c.input(2).shape()[1] < depth)) {
    return invalid_argument("colors are [n, ", depth, " or more], not of shape ", c.input(2).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (y->raw() != x.raw()) copy_elements(*y, x);
  if (height == 0 || width == 0) return ok_status();
  return dispatch<TypeList<float, float16>>(x.dtype(), "DrawBoundingBoxes", [&]<typename T>() {
    for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
      T* const canvas = y->data<T>() + b * height * width * depth;
      for (std::int64_t n = 0; n < boxes.shape()[1]; ++n) {
        const float* const colour =
            given != nullptr ? given->data<float>() + n % given->shape()[0] * given->shape()[1] : kColours[n % 10];
        const float* const box = boxes.data<float>() + (b * boxes.shape()[1] + n) * 4;
        // Beyond any image, so that the conversion is defined for every number.
        const auto pixel = [](float part, std::int64_t size) {
          const float at = part * static_cast<float>(size - 1);
          return at == at ? static_cast<std::int64_t>(std::clamp(at, -1e9f, 1e9f)) : std::int64_t{-1000000000};
        };
        const std::int64_t top = pixel(box[0], height), left = pixel(box[1], width);
        const std::int64_t bottom = pixel(box[2], height), right = pixel(box[3], width);
        if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) continue;
        const auto paint = [&](std::int64_t row, std::int64_t column) {
          for (std::int64_t ch = 0; ch < depth; ++ch) {
            canvas[(row * width + column) * depth + ch] = T(depth == 1 && given == nullptr ? 1.0f : colour[ch]);
          }
        };
        const std::int64_t first_row = std::max<std::int64_t>(top, 0), last_row = std::min(bottom, height - 1);
        const std::int64_t first = std::max<std::int64_t>(left, 0), last = std::min(right, width - 1);
        for (std::int64_t column = first; column <= last; ++column) {
          if (top >= 0) paint(top, column);
          if (bottom < height) paint(bottom, column);
        }
        for (std::int64_t row = first_row; row <= last_row; ++row) {
          if (left >= 0) paint(row, left);
          if (right < width) paint(row, right);
        }
      }
    }
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_boxes(KernelRegistry& kernels) {
  kernels.add("DrawBoundingBoxes", "cpu", draw);
  kernels.add("DrawBoundingBoxesV2", "cpu", draw);
}

}  // namespace argosy::image
