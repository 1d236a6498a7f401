// CropAndResize and its gradients, by the rules of crop_cpu.cc. For the gradient of images each pixel gathers over the
// boxes; that of a box is computed by one block. So sums are deterministic.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

struct Crops {
  i64 boxes, images, height, width, rows, columns, channels;  // images height x width, crops rows x columns
  int nearest;
  f32 outside;
};

// Where row (or column) i of a crop lies in its image.
struct CropAxis {
  f32 first, last, size;
  i64 count;

  // Rounded as on the CPU: whether a pixel is inside must not depend on the last bit.
  ARGOSY_DEVICE f32 place(i64 i) const {
#if defined(__CUDACC__)
    if (count > 1) {
      const f32 step = __fmul_rn(last - first, size) / static_cast<f32>(count - 1);
      return __fadd_rn(__fmul_rn(first, size), __fmul_rn(static_cast<f32>(i), step));
    }
    return __fmul_rn(__fmul_rn(0.5f, first + last), size);
#else
    const f32 step = count > 1 ? (last - first) * size / static_cast<f32>(count - 1) : 0.0f;
    return count > 1 ? first * size + static_cast<f32>(i) * step : 0.5f * (first + last) * size;
#endif
  }
  ARGOSY_DEVICE bool inside(f32 at) const { return at >= 0.0f && at <= size; }
};
ARGOSY_DEVICE CropAxis rows_of(const Crops& g, const f32* box) {
  return {box[0], box[2], static_cast<f32>(g.height - 1), g.rows};
}
ARGOSY_DEVICE CropAxis columns_of(const Crops& g, const f32* box) {
  return {box[1], box[3], static_cast<f32>(g.width - 1), g.columns};
}

template <typename T>
ARGOSY_DEVICE f32 pixel(const T* x, const Crops& g, i64 image, f32 row, f32 column, i64 channel) {
  const i64 at = (image * g.height + static_cast<i64>(row)) * g.width + static_cast<i64>(column);
  return static_cast<f32>(load(x, at * g.channels + channel));
}

template <typename T>
ARGOSY_DEVICE void crop(i64 n, const T* x, const f32* boxes, const i32* index, f32* y, const Crops& g) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % g.channels, j = i / g.channels % g.columns, line = i / g.channels / g.columns;
    const i64 box = line / g.rows, image = index[box];
    const CropAxis rows = rows_of(g, boxes + 4 * box), columns = columns_of(g, boxes + 4 * box);
    const f32 row = rows.place(line % g.rows), column = columns.place(j);
    if (!rows.inside(row) || !columns.inside(column)) {
      y[i] = g.outside;
      continue;
    }
    if (g.nearest) {
      y[i] = pixel(x, g, image, ::round(row), ::round(column), channel);
      continue;
    }
    const f32 top = ::floor(row), bottom = ::ceil(row), left = ::floor(column), right = ::ceil(column);
    const f32 along = column - left;
    const f32 tl = pixel(x, g, image, top, left, channel), tr = pixel(x, g, image, top, right, channel);
    const f32 bl = pixel(x, g, image, bottom, left, channel), br = pixel(x, g, image, bottom, right, channel);
    const f32 upper = tl + (tr - tl) * along, lower = bl + (br - bl) * along;
    y[i] = upper + (lower - upper) * (row - top);
  }
}

// Sets a range [first, last) that contains all rows of the crop that use image row k.
ARGOSY_DEVICE void near(const CropAxis& axis, i64 k, i64* first, i64* last) {
  *first = 0;
  *last = axis.count;
  if (axis.count <= 1) return;
  const f32 step = (axis.last - axis.first) * axis.size / static_cast<f32>(axis.count - 1),
            begin = axis.first * axis.size;
  if (!(::fabs(step) > 1e-6f)) return;
  const f32 a = (static_cast<f32>(k) - 1.0f - begin) / step, b = (static_cast<f32>(k) + 1.0f - begin) / step;
  const f32 low = ::floor(::fmin(a, b)) - 1.0f, high = ::ceil(::fmax(a, b)) + 2.0f;
  if (low > 0.0f) *first = low < static_cast<f32>(axis.count) ? static_cast<i64>(low) : axis.count;
  if (high < static_cast<f32>(axis.count)) *last = high > 0.0f ? static_cast<i64>(high) : 0;
}
// Returns the weight of image row k in a crop's pixel at `place`.
ARGOSY_DEVICE f32 share(f32 place, i64 k, int nearest) {
  const f32 at = static_cast<f32>(k);
  if (nearest) return ::round(place) == at ? 1.0f : 0.0f;
  const f32 low = ::floor(place), part = place - low;
  return (low == at ? 1.0f - part : 0.0f) + (::ceil(place) == at ? part : 0.0f);
}

template <typename T>
ARGOSY_DEVICE void crop_back(i64 n, const f32* dy, const f32* boxes, const i32* index, T* dx, const Crops& g) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % g.channels, column = i / g.channels % g.width, line = i / g.channels / g.width;
    const i64 image = line / g.height, row = line % g.height;
    typename Wide<T>::Type sum = 0;
    for (i64 box = 0; box < g.boxes; ++box) {
      if (index[box] != image) continue;
      const CropAxis rows = rows_of(g, boxes + 4 * box), columns = columns_of(g, boxes + 4 * box);
      i64 top, bottom, left, right;
      near(rows, row, &top, &bottom);
      near(columns, column, &left, &right);
      for (i64 a = top; a < bottom; ++a) {
        const f32 down = rows.place(a), much = rows.inside(down) ? share(down, row, g.nearest) : 0.0f;
        if (much == 0.0f) continue;
        for (i64 b = left; b < right; ++b) {
          const f32 across = columns.place(b), part = columns.inside(across) ? share(across, column, g.nearest) : 0.0f;
          if (part == 0.0f) continue;
          const i64 at = ((box * g.rows + a) * g.columns + b) * g.channels + channel;
          sum += static_cast<typename Wide<T>::Type>(dy[at]) * much * part;
        }
      }
    }
    store(dx, i, static_cast<Compute<T>>(sum));
  }
}

template <typename T>
ARGOSY_DEVICE void crop_back_boxes(const f32* dy, const T* x, const f32* boxes, const i32* index, f32* dboxes,
                                   const Crops& g) {
  ARGOSY_SHARED f32 scratch[32];
  const i64 pixels = g.rows * g.columns * g.channels;
  for (i64 box = blockIdx.x; box < g.boxes; box += gridDim.x) {
    const CropAxis rows = rows_of(g, boxes + 4 * box), columns = columns_of(g, boxes + 4 * box);
    const i64 image = index[box];
    f32 d[4] = {};
    for (i64 i = threadIdx.x; i < pixels; i += blockDim.x) {
      const i64 channel = i % g.channels, b = i / g.channels % g.columns, a = i / g.channels / g.columns;
      const f32 row = rows.place(a), column = columns.place(b);
      if (!rows.inside(row) || !columns.inside(column)) continue;
      const f32 top = ::floor(row), bottom = ::ceil(row), left = ::floor(column), right = ::ceil(column);
      const f32 down = row - top, along = column - left, back = dy[box * pixels + i];
      const f32 tl = pixel(x, g, image, top, left, channel), tr = pixel(x, g, image, top, right, channel);
      const f32 bl = pixel(x, g, image, bottom, left, channel), br = pixel(x, g, image, bottom, right, channel);
      const f32 slope_y = back * ((1.0f - along) * (bl - tl) + along * (br - tr)) * rows.size;
      const f32 slope_x = back * ((1.0f - down) * (tr - tl) + down * (br - bl)) * columns.size;
      // The derivative of the position by either end of the box.
      const f32 far_y = rows.count > 1 ? static_cast<f32>(a) / static_cast<f32>(rows.count - 1) : 0.5f;
      const f32 far_x = columns.count > 1 ? static_cast<f32>(b) / static_cast<f32>(columns.count - 1) : 0.5f;
      d[0] += slope_y * (1.0f - far_y);
      d[1] += slope_x * (1.0f - far_x);
      d[2] += slope_y * far_y;
      d[3] += slope_x * far_x;
    }
    for (int k = 0; k < 4; ++k) {
      const f32 sum = block_reduce(d[k], scratch, [](f32 p, f32 q) { return p + q; });
      if (threadIdx.x == 0) dboxes[4 * box + k] = sum;
    }
  }
}

#define ARGOSY_CROP(T)                                                                                           \
  ARGOSY_KERNEL(crop_##T, i64 n, const T* x, const f32* boxes, const i32* index, f32* y, Crops g) {              \
    crop(n, x, boxes, index, y, g);                                                                              \
  }                                                                                                              \
  ARGOSY_KERNEL(crop_back_boxes_##T, const f32* dy, const T* x, const f32* boxes, const i32* index, f32* dboxes, \
                Crops g) {                                                                                       \
    crop_back_boxes(dy, x, boxes, index, dboxes, g);                                                             \
  }
ARGOSY_CROP(f32)
ARGOSY_CROP(f64)
ARGOSY_CROP(f16)
ARGOSY_CROP(u8)
#undef ARGOSY_CROP
#define ARGOSY_CROP_BACK(T)                                                                                \
  ARGOSY_KERNEL(crop_back_##T, i64 n, const f32* dy, const f32* boxes, const i32* index, T* dx, Crops g) { \
    crop_back(n, dy, boxes, index, dx, g);                                                                 \
  }
ARGOSY_CROP_BACK(f32)
ARGOSY_CROP_BACK(f64)
ARGOSY_CROP_BACK(f16)
#undef ARGOSY_CROP_BACK

}  // namespace argosy::cuda
