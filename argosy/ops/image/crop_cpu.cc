// Kernels of CropAndResize and its gradients.
#include <algorithm>
#include <cmath>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/crop_inputs.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

using ImageTypes = TypeList<float, double, float16, std::uint8_t, std::uint16_t, std::int8_t, std::int16_t,
                            std::int32_t, std::int64_t>;

// The position in an image of `size` of crop row (or column) i of `count`, between y1 and y2.
struct Axis {
  Axis(float low, float high, std::int64_t image, std::int64_t crop)
      : first(low), last(high), size(static_cast<float>(image - 1)), count(crop) {}
  float place(std::int64_t i) const {
    const float step = count > 1 ? (last - first) * size / static_cast<float>(count - 1) : 0;
    return count > 1 ? first * size + static_cast<float>(i) * step : 0.5f * (first + last) * size;
  }
  bool inside(float at) const { return at >= 0 && at <= size; }

  float first, last, size;
  std::int64_t count;
};

// fn(crop index, box, y axis, x axis, image index) for every box.
struct Geometry {
  const Tensor& boxes;
  const Tensor& index;
  std::int64_t height, width, crop_height, crop_width, channels;

  template <typename Fn>
  void each(Fn&& fn) const {
    for (std::int64_t n = 0; n < boxes.shape()[0]; ++n) {
      const float* const box = boxes.data<float>() + 4 * n;
      fn(n, Axis(box[0], box[2], height, crop_height), Axis(box[1], box[3], width, crop_width),
         std::int64_t{index.data<std::int32_t>()[n]});
    }
  }
};

Status crop_and_resize(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const bool nearest = attrs.get_string("method") == "nearest";
  const float outside = attrs.get_float("extrapolation_value");
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_crop(c));
  for (const float edge : c.input(1).values<float>()) {
    if (!std::isfinite(edge)) return invalid_argument("Boxes contains at least one element that is not finite: ", edge);
  }
  const Geometry g{c.input(1), c.input(2), x.shape()[1], x.shape()[2], shape[1], shape[2], x.shape()[3]};
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (shape.elements() == 0) return ok_status();
  return dispatch<ImageTypes>(x.dtype(), "CropAndResize", [&]<typename T>() {
    float* to = y->data<float>();
    g.each([&](std::int64_t, const Axis& rows, const Axis& columns, std::int64_t image) {
      const T* const from = x.data<T>() + image * g.height * g.width * g.channels;
      for (std::int64_t i = 0; i < g.crop_height; ++i) {
        const float row = rows.place(i);
        for (std::int64_t j = 0; j < g.crop_width; ++j, to += g.channels) {
          const float column = columns.place(j);
          if (!rows.inside(row) || !columns.inside(column)) {
            std::fill_n(to, g.channels, outside);
            continue;
          }
          const auto at = [&](float r, float col, std::int64_t ch) {
            return static_cast<float>(
                from[(static_cast<std::int64_t>(r) * g.width + static_cast<std::int64_t>(col)) * g.channels + ch]);
          };
          for (std::int64_t ch = 0; ch < g.channels; ++ch) {
            if (nearest) {
              to[ch] = at(std::round(row), std::round(column), ch);
              continue;
            }
            const float top = std::floor(row), bottom = std::ceil(row), left = std::floor(column),
                        right = std::ceil(column);
            const float along = column - left;
            const float upper = at(top, left, ch) + (at(top, right, ch) - at(top, left, ch)) * along;
            const float lower = at(bottom, left, ch) + (at(bottom, right, ch) - at(bottom, left, ch)) * along;
            to[ch] = upper + (lower - upper) * (row - top);
          }
        }
      }
    });
    return ok_status();
  });
}

Status crop_grad_image(KernelContext& c, const AttrMap& attrs) {
  const bool nearest = attrs.get_string("method") == "nearest";
  const Tensor& dy = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_crop_grad_image(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  const Geometry g{c.input(1), c.input(2), shape[1], shape[2], dy.shape()[1], dy.shape()[2], shape[3]};
  ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(shape.elements()) * sizeof(double)));
  auto* const sums = reinterpret_cast<double*>(memory.data());
  std::fill_n(sums, shape.elements(), 0.0);
  const float* from = dy.data<float>();
  g.each([&](std::int64_t, const Axis& rows, const Axis& columns, std::int64_t image) {
    double* const to = sums + image * g.height * g.width * g.channels;
    for (std::int64_t i = 0; i < g.crop_height; ++i) {
      const float row = rows.place(i);
      for (std::int64_t j = 0; j < g.crop_width; ++j, from += g.channels) {
        const float column = columns.place(j);
        if (!rows.inside(row) || !columns.inside(column)) continue;
        const auto add = [&](float r, float col, float weight) {
          double* const at =
              to + (static_cast<std::int64_t>(r) * g.width + static_cast<std::int64_t>(col)) * g.channels;
          for (std::int64_t ch = 0; ch < g.channels; ++ch) at[ch] += static_cast<double>(from[ch]) * weight;
        };
        if (nearest) {
          add(std::round(row), std::round(column), 1);
          continue;
        }
        const float top = std::floor(row), left = std::floor(column), down = row - top, along = column - left;
        add(top, left, (1 - down) * (1 - along));
        add(top, std::ceil(column), (1 - down) * along);
        add(std::ceil(row), left, down * (1 - along));
        add(std::ceil(row), std::ceil(column), down * along);
      }
    }
  });
  return dispatch<TypeList<float, double, float16>>(dx->dtype(), "CropAndResizeGradImage", [&]<typename T>() {
    using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
    std::transform(sums, sums + shape.elements(), dx->data<T>(), [](double v) { return T(static_cast<S>(v)); });
    return ok_status();
  });
}

Status crop_grad_boxes(KernelContext& c) {
  const Tensor& dy = c.input(0);
  const Tensor& x = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_crop_grad_boxes(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dboxes, c.output(0, c.input(2).shape()));
  const Geometry g{c.input(2), c.input(3), x.shape()[1], x.shape()[2], dy.shape()[1], dy.shape()[2], x.shape()[3]};
  return dispatch<ImageTypes>(x.dtype(), "CropAndResizeGradBoxes", [&]<typename T>() {
    const float* from = dy.data<float>();
    g.each([&](std::int64_t n, const Axis& rows, const Axis& columns, std::int64_t image) {
      double d[4] = {};
      const T* const pixels = x.data<T>() + image * g.height * g.width * g.channels;
      for (std::int64_t i = 0; i < g.crop_height; ++i) {
        const float row = rows.place(i);
        for (std::int64_t j = 0; j < g.crop_width; ++j, from += g.channels) {
          const float column = columns.place(j);
          if (!rows.inside(row) || !columns.inside(column)) continue;
          const float top = std::floor(row), left = std::floor(column), down = row - top, along = column - left;
          const auto at = [&](float r, float col, std::int64_t ch) {
            return static_cast<float>(
                pixels[(static_cast<std::int64_t>(r) * g.width + static_cast<std::int64_t>(col)) * g.channels + ch]);
          };
          double slope_y = 0, slope_x = 0;
          for (std::int64_t ch = 0; ch < g.channels; ++ch) {
            const float tl = at(top, left, ch), tr = at(top, std::ceil(column), ch);
            const float bl = at(std::ceil(row), left, ch), br = at(std::ceil(row), std::ceil(column), ch);
            slope_y += static_cast<double>(from[ch]) * ((1 - along) * (bl - tl) + along * (br - tr));
            slope_x += static_cast<double>(from[ch]) * ((1 - down) * (tr - tl) + down * (br - bl));
          }
          // The derivative of the position by either end of the box.
          const auto share = [](const Axis& axis, std::int64_t k, double& first, double& last, double slope) {
            const double part = axis.count > 1 ? static_cast<double>(k) / static_cast<double>(axis.count - 1) : 0.5;
            first += slope * axis.size * (1 - part);
            last += slope * axis.size * part;
          };
          share(rows, i, d[0], d[2], slope_y);
          share(columns, j, d[1], d[3], slope_x);
        }
      }
      for (int k = 0; k < 4; ++k) dboxes->data<float>()[4 * n + k] = static_cast<float>(d[k]);
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_crop(KernelRegistry& kernels) {
  kernels.add("CropAndResize", "cpu", AttrKernel<crop_and_resize>::make);
  kernels.add("CropAndResizeGradImage", "cpu",
              with_workspace<AttrKernel<crop_grad_image>::make, for_elements_of_output<0, sizeof(double)>>);
  kernels.add("CropAndResizeGradBoxes", "cpu", crop_grad_boxes);
}

}  // namespace argosy::image
