// A convolution as one matrix product (im2col). Every window of NHWC images becomes a row ("patch"); the filter, in its
// layout in memory, is the other matrix. Best if filters are larger than images: then only the few patches are packed.
#pragma once

#include <algorithm>
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/conv/conv_geometry.h"

namespace argosy {

struct Patches {
  const ConvGeometry& g;

  std::int64_t rows() const { return g.batch * g.h.out * g.w.out; }
  std::int64_t columns() const { return g.h.window * g.w.window * g.in_c; }
  // True if the images already are the patches.
  bool trivial() const {
    return g.h.window == 1 && g.w.window == 1 && g.h.stride == 1 && g.w.stride == 1 && g.h.pad_before == 0 &&
           g.w.pad_before == 0 && g.h.out == g.h.in && g.w.out == g.w.in;
  }

  template <typename T>
  void gather(const T* image, T* patches) const {
    parallel_for(rows(), std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, columns())),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) gather_row(image, row, patches + row * columns());
                 });
  }

  // The reverse (col2im): adds the patches into the images. Images are spread over the team of threads.
  template <typename T>
  void scatter_add(const T* patches, T* image) const {
    const std::int64_t per_image = g.h.out * g.w.out;
    parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      std::memset(static_cast<void*>(image + begin * image_size()), 0,
                  static_cast<std::size_t>((end - begin) * image_size()) * sizeof(T));
      for (std::int64_t row = begin * per_image; row < end * per_image; ++row) {
        scatter_row(patches + row * columns(), row, image);
      }
    });
  }

 private:
  std::int64_t image_size() const { return g.h.in * g.w.in * g.in_c; }

  // Calls inside(cell in the patch, cell in the images) for each cell of the window of patch `row`, as offsets in
  // elements. The second one is -1 where the cell is padding.
  template <typename Inside>
  void walk(std::int64_t row, const Inside& inside) const {
    const std::int64_t ox = row % g.w.out, oy = row / g.w.out % g.h.out, n = row / g.w.out / g.h.out;
    const std::int64_t top = oy * g.h.stride - g.h.pad_before, left = ox * g.w.stride - g.w.pad_before;
    for (std::int64_t y = 0; y < g.h.window; ++y) {
      const std::int64_t iy = top + y * g.h.dilation;
      for (std::int64_t x = 0; x < g.w.window; ++x) {
        const std::int64_t ix = left + x * g.w.dilation;
        const bool there = iy >= 0 && iy < g.h.in && ix >= 0 && ix < g.w.in;
        inside((y * g.w.window + x) * g.in_c, there ? ((n * g.h.in + iy) * g.w.in + ix) * g.in_c : -1);
      }
    }
  }
  template <typename T>
  void gather_row(const T* image, std::int64_t row, T* to) const {
    walk(row, [&](std::int64_t at, std::int64_t from) {
      if (from >= 0) {
        std::copy_n(image + from, g.in_c, to + at);
      } else {
        std::fill_n(to + at, g.in_c, T(0));
      }
    });
  }
  template <typename T>
  void scatter_row(const T* from, std::int64_t row, T* image) const {
    walk(row, [&](std::int64_t at, std::int64_t to) {
      if (to < 0) return;
      for (std::int64_t c = 0; c < g.in_c; ++c) image[to + c] += from[at + c];
    });
  }
};

}  // namespace argosy
