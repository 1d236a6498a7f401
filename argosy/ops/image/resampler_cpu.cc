// Kernels: images seen at given points, and the gradients of that.
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

struct PointSizes {
  std::int64_t batch, height, width, channels, points;  // points of each image
};

Result<PointSizes> sizes_of(const KernelContext& c) {
  const Shape &data = c.input(0).shape(), &warp = c.input(1).shape();
  if (data.rank() != 4) {
    return unimplemented(
        "Only bilinear interpolation is currently supported. The input data shape must be [batch_size, data_height, "
        "data_width, data_channels], but is: ",
        data);
  }
  if (warp.rank() < 2) return invalid_argument("warp should be at least a matrix, got shape ", warp);
  if (warp.back() != 2) {
    return unimplemented(
        "Only bilinear interpolation is supported, warping coordinates must be 2D; warp shape last entry should be 2, "
        "but shape vector is: ",
        warp);
  }
  if (data[0] != warp[0]) {
    return invalid_argument("Batch size of data and warp tensor must be the same, but input shapes are: ", data, ", ",
                            warp);
  }
  PointSizes s{data[0], data[1], data[2], data[3], 1};
  for (int i = 1; i + 1 < warp.rank(); ++i) s.points *= warp[i];
  return s;
}

// The type to compute in.
template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The four pixels around a point: their offsets in an image (-1 outside), and their weights.
template <typename S>
struct NearPixels {
  std::int64_t at[4];  // above left, above right, below left, below right
  S right, below;      // the point's distance from the pixels above and left
  S weight(int k) const { return (k & 1 ? right : 1 - right) * (k & 2 ? below : 1 - below); }
};

// Returns false if no pixel is near the point, or it is NaN.
template <typename S>
bool find_pixels(const PointSizes& s, S x, S y, NearPixels<S>& c) {
  const bool any = x > -1 && y > -1 && x < static_cast<S>(s.width) && y < static_cast<S>(s.height);
  if (!any) return false;
  const auto left = static_cast<std::int64_t>(std::floor(x)), above = static_cast<std::int64_t>(std::floor(y));
  for (int k = 0; k < 4; ++k) {
    const std::int64_t column = left + (k & 1), row = above + (k >> 1);
    const bool inside = column >= 0 && row >= 0 && column < s.width && row < s.height;
    c.at[k] = inside ? (row * s.width + column) * s.channels : -1;
  }
  c.right = x - static_cast<S>(left);
  c.below = y - static_cast<S>(above);
  return true;
}

template <typename T>
Computed<T> pixel(const T* image, std::int64_t at, std::int64_t channel) {
  return at < 0 ? Computed<T>(0) : static_cast<Computed<T>>(image[at + channel]);
}

using Types = TypeList<float16, bfloat16, float, double>;

Status resample(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PointSizes s, sizes_of(c));
  std::vector<std::int64_t> sizes(c.input(1).shape().sizes().begin(), c.input(1).shape().sizes().end());
  sizes.back() = s.channels;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  return dispatch<Types>(y->dtype(), "Resampler", [&]<typename T>() {
    using S = Computed<T>;
    const T* const warp = c.input(1).data<T>();
    parallel_for(s.batch * s.points, std::max<std::int64_t>(1, 4096 / s.channels),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t p = begin; p < end; ++p) {
                     const T* const image = c.input(0).data<T>() + p / s.points * s.height * s.width * s.channels;
                     T* const to = y->data<T>() + p * s.channels;
                     NearPixels<S> near;
                     if (!find_pixels(s, static_cast<S>(warp[2 * p]), static_cast<S>(warp[2 * p + 1]), near)) {
                       std::fill_n(to, s.channels, T(0));
                       continue;
                     }
                     for (std::int64_t ch = 0; ch < s.channels; ++ch) {
                       S sum = 0;
                       for (int k = 0; k < 4; ++k) sum += near.weight(k) * pixel(image, near.at[k], ch);
                       to[ch] = static_cast<T>(sum);
                     }
                   }
                 });
    return ok_status();
  });
}

// Threads share out images, since the points of one image add to the same pixels.
Status resample_gradient(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PointSizes s, sizes_of(c));
  const Shape &warp_shape = c.input(1).shape(), &dy_shape = c.input(2).shape();
  bool fits = dy_shape.rank() == warp_shape.rank() && dy_shape.back() == s.channels;
  for (int i = 0; fits && i + 1 < warp_shape.rank(); ++i) fits = dy_shape[i] == warp_shape[i];
  if (!fits) {
    return invalid_argument("grad_output shape is not consistent with data and warp shapes; it is ", dy_shape,
                            " beside ", c.input(0).shape(), " and ", warp_shape);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const to_data, c.output(0, c.input(0).shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const to_warp, c.output(1, warp_shape));
  return dispatch<Types>(to_data->dtype(), "ResamplerGrad", [&]<typename T>() {
    using S = Computed<T>;
    const std::int64_t size = s.height * s.width * s.channels;
    std::fill_n(to_data->data<T>(), to_data->elements(), T(0));
    std::fill_n(to_warp->data<T>(), to_warp->elements(), T(0));
    parallel_for(s.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin * s.points; p < end * s.points; ++p) {
        const T* const image = c.input(0).data<T>() + p / s.points * size;
        T* const d_image = to_data->data<T>() + p / s.points * size;
        const T* const at = c.input(1).data<T>() + 2 * p;
        const T* const dy = c.input(2).data<T>() + p * s.channels;
        NearPixels<S> near;
        if (!find_pixels(s, static_cast<S>(at[0]), static_cast<S>(at[1]), near)) continue;
        S dx = 0, d_row = 0;
        for (std::int64_t ch = 0; ch < s.channels; ++ch) {
          const auto flow = static_cast<S>(dy[ch]);
          S around[4];
          for (int k = 0; k < 4; ++k) {
            around[k] = pixel(image, near.at[k], ch);
            if (near.at[k] < 0) continue;
            T& d = d_image[near.at[k] + ch];
            d = static_cast<T>(static_cast<S>(d) + flow * near.weight(k));
          }
          dx += flow * ((1 - near.below) * (around[1] - around[0]) + near.below * (around[3] - around[2]));
          d_row += flow * ((1 - near.right) * (around[2] - around[0]) + near.right * (around[3] - around[1]));
        }
        to_warp->data<T>()[2 * p] = static_cast<T>(dx);
        to_warp->data<T>()[2 * p + 1] = static_cast<T>(d_row);
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_resampler(KernelRegistry& kernels) {
  kernels.add("Resampler", "cpu", resample);
  kernels.add("ResamplerGrad", "cpu", resample_gradient);
}

}  // namespace argosy::image
