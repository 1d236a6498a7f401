// The sizes of one pooling, checked once for every kernel.
#pragma once

#include "argosy/ops/conv/window.h"

namespace argosy {

// NCHW images are pooled as batch * channels images of one channel: the same memory.
struct PoolGeometry {
  std::int64_t images = 0, channels = 0;
  WindowAxis h, w;

  std::int64_t in_offset(std::int64_t n, std::int64_t y, std::int64_t x) const {
    return ((n * h.in + y) * w.in + x) * channels;
  }
  std::int64_t out_offset(std::int64_t n, std::int64_t y, std::int64_t x) const {
    return ((n * h.out + y) * w.out + x) * channels;
  }
  // Every input element lies under exactly one window.
  bool tiles() const {
    return h.stride == h.window && w.stride == w.window && h.out * h.stride == h.in && w.out * w.stride == w.in &&
           h.pad_before == 0 && w.pad_before == 0;
  }
};

struct PoolAttrs : WindowAttrs {
  std::string op;
  std::array<std::int64_t, 2> window = {1, 1};
};
// Reads ksize, strides and padding from the attributes.
Result<PoolAttrs> read_pool(std::string_view op, const AttrMap& attrs);
// Sets window and strides, which are inputs of some ops. UNIMPLEMENTED for windows over batch or channels.
Status set_pool_window(PoolAttrs& attrs, std::span<const std::int64_t> ksize, std::span<const std::int64_t> strides);

// INVALID_ARGUMENT also where a window lies in the padding alone.
Result<PoolGeometry> pool_geometry(const PoolAttrs& attrs, const Shape& image);
Shape pool_output_shape(const PoolAttrs& attrs, const Shape& image, const PoolGeometry& g);

}  // namespace argosy
