// Kernels of windows over volumes: unrolling for convolutions by matrix products, and pooling. One thread per element.
// Gradients are gathered from the windows that cover an element, in their order.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/conv3d/conv3d_cuda.h"

namespace argosy::cuda {

// Returns the element under a window's cell along an axis; -1: outside.
ARGOSY_DEVICE i64 under(const VolumeAxis& a, i64 window, i64 cell) {
  const i64 at = window * a.stride + cell * a.rate - a.before;
  return at < a.size ? at : -1;
}
// Returns the window whose cell `cell` is over element `at`; -1: none.
ARGOSY_DEVICE i64 over(const VolumeAxis& a, i64 at, i64 cell) {
  const i64 from = at + a.before - cell * a.rate;
  if (from < 0 || from % a.stride != 0) return -1;
  const i64 window = from / a.stride;
  return window < a.count ? window : -1;
}

// Splits a row-major index into three.
struct Three {
  i64 d, h, w;
};
ARGOSY_DEVICE Three three(i64 i, i64 h, i64 w) { return {i / w / h, i / w % h, i % w}; }
ARGOSY_DEVICE i64 at(const VolumeStrides& s, i64 n, i64 d, i64 h, i64 w, i64 c) {
  return n * s.n + d * s.d + h * s.h + w * s.w + c * s.c;
}

// Windows [first, first + rows) of all volumes, each a row of window cells times channels.
template <typename B>
ARGOSY_DEVICE void unroll(const Volumes& v, i64 first, i64 rows, const B* x, B* to) {
  const i64 cells = v.d.window * v.h.window * v.w.window, width = cells * v.channels;
  const i64 windows = v.d.count * v.h.count * v.w.count;
  for (i64 i = first_index(); i < rows * width; i += index_step()) {
    const i64 row = first + i / width, channel = i % v.channels;
    const Three k = three(i % width / v.channels, v.h.window, v.w.window);
    const Three o = three(row % windows, v.h.count, v.w.count);
    const i64 d = under(v.d, o.d, k.d), h = under(v.h, o.h, k.h), w = under(v.w, o.w, k.w);
    to[i] = d < 0 || h < 0 || w < 0 ? B{} : x[at(v.in, row / windows, d, h, w, channel)];
  }
}

// Adds unrolled windows to the elements they came from. `more`: adds to the results of earlier rows.
template <typename T>
ARGOSY_DEVICE void roll(const Volumes& v, i64 first, i64 rows, const T* from, T* x, bool more) {
  const i64 cells = v.d.window * v.h.window * v.w.window, windows = v.d.count * v.h.count * v.w.count;
  const i64 size = v.d.size * v.h.size * v.w.size;
  for (i64 i = first_index(); i < v.batch * size * v.channels; i += index_step()) {
    const i64 channel = i % v.channels, n = i / v.channels / size;
    const Three p = three(i / v.channels % size, v.h.size, v.w.size);
    const i64 to = at(v.in, n, p.d, p.h, p.w, channel);
    typename Wide<T>::Type sum = 0;
    if (more) sum = load(x, to);
    for (i64 a = 0; a < v.d.window; ++a) {
      const i64 d = over(v.d, p.d, a);
      if (d < 0) continue;
      for (i64 b = 0; b < v.h.window; ++b) {
        const i64 h = over(v.h, p.h, b);
        if (h < 0) continue;
        for (i64 k = 0; k < v.w.window; ++k) {
          const i64 w = over(v.w, p.w, k);
          if (w < 0) continue;
          const i64 row = n * windows + (d * v.h.count + h) * v.w.count + w - first;
          if (row < 0 || row >= rows) continue;
          sum += load(from, (row * cells + (a * v.h.window + b) * v.w.window + k) * v.channels + channel);
        }
      }
    }
    store(x, to, sum);
  }
}

// --- pools: windows without gaps -------------------------------------------------------------------------------------

struct Span {
  i64 begin, end;
};
// Elements under window `o`; windows over element `i`.
ARGOSY_DEVICE Span elements_under(const VolumeAxis& a, i64 o) {
  const i64 begin = o * a.stride - a.before, end = begin + a.window;
  return {begin < 0 ? 0 : begin, end < a.size ? end : a.size};
}
ARGOSY_DEVICE Span windows_over(const VolumeAxis& a, i64 i) {
  const i64 first = i + a.before - a.window + 1, last = (i + a.before) / a.stride + 1;
  return {first <= 0 ? 0 : (first + a.stride - 1) / a.stride, last < a.count ? last : a.count};
}
struct Box {
  Span d, h, w;
  ARGOSY_DEVICE i64 cells() const { return (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin); }
};
ARGOSY_DEVICE Box box_under(const Volumes& v, const Three& o) {
  return {elements_under(v.d, o.d), elements_under(v.h, o.h), elements_under(v.w, o.w)};
}
ARGOSY_DEVICE Box box_over(const Volumes& v, const Three& p) {
  return {windows_over(v.d, p.d), windows_over(v.h, p.h), windows_over(v.w, p.w)};
}

template <bool kMost, typename T>
ARGOSY_DEVICE void pool(const Volumes& v, const T* x, T* y, Compute<T> lowest) {
  const i64 windows = v.d.count * v.h.count * v.w.count;
  for (i64 i = first_index(); i < v.batch * windows * v.channels; i += index_step()) {
    const i64 channel = i % v.channels, n = i / v.channels / windows;
    const Three o = three(i / v.channels % windows, v.h.count, v.w.count);
    const Box box = box_under(v, o);
    Compute<T> fold = kMost ? lowest : Compute<T>(0);
    for (i64 d = box.d.begin; d < box.d.end; ++d) {
      for (i64 h = box.h.begin; h < box.h.end; ++h) {
        for (i64 w = box.w.begin; w < box.w.end; ++w) {
          const Compute<T> e = load(x, at(v.in, n, d, h, w, channel));
          if (kMost) {
            fold = fold < e || e != e ? e : fold;
          } else {
            fold += e;
          }
        }
      }
    }
    if (!kMost) fold = fold / static_cast<Compute<T>>(box.cells());
    store(y, at(v.out, n, o.d, o.h, o.w, channel), fold);
  }
}

// Returns the first element under window `o` that equals its maximum.
template <typename T>
ARGOSY_DEVICE i64 greatest(const Volumes& v, const T* x, Compute<T> result, i64 n, const Three& o, i64 channel) {
  const Box box = box_under(v, o);
  for (i64 d = box.d.begin; d < box.d.end; ++d) {
    for (i64 h = box.h.begin; h < box.h.end; ++h) {
      for (i64 w = box.w.begin; w < box.w.end; ++w) {
        const i64 here = at(v.in, n, d, h, w, channel);
        if (load(x, here) == result) return here;
      }
    }
  }
  return -1;
}

template <typename T>
ARGOSY_DEVICE void max_back(const Volumes& v, const T* x, const T* y, const T* dy, T* dx) {
  const i64 size = v.d.size * v.h.size * v.w.size;
  for (i64 i = first_index(); i < v.batch * size * v.channels; i += index_step()) {
    const i64 channel = i % v.channels, n = i / v.channels / size;
    const Three p = three(i / v.channels % size, v.h.size, v.w.size);
    const i64 here = at(v.in, n, p.d, p.h, p.w, channel);
    const Compute<T> mine = load(x, here);
    const Box box = box_over(v, p);
    Compute<T> sum = 0;
    for (i64 d = box.d.begin; d < box.d.end; ++d) {
      for (i64 h = box.h.begin; h < box.h.end; ++h) {
        for (i64 w = box.w.begin; w < box.w.end; ++w) {
          const i64 out = at(v.out, n, d, h, w, channel);
          if (load(y, out) == mine && greatest(v, x, mine, n, {d, h, w}, channel) == here) sum += load(dy, out);
        }
      }
    }
    store(dx, here, sum);
  }
}

template <typename T>
ARGOSY_DEVICE void max_pick(const Volumes& v, const T* x, const T* y, const T* from, T* to) {
  const i64 windows = v.d.count * v.h.count * v.w.count;
  for (i64 i = first_index(); i < v.batch * windows * v.channels; i += index_step()) {
    const i64 channel = i % v.channels, n = i / v.channels / windows;
    const Three o = three(i / v.channels % windows, v.h.count, v.w.count);
    const i64 out = at(v.out, n, o.d, o.h, o.w, channel);
    const i64 here = greatest(v, x, load(y, out), n, o, channel);
    store(to, out, here < 0 ? Compute<T>(0) : load(from, here));
  }
}

template <typename T>
ARGOSY_DEVICE void average_back(const Volumes& v, const T* dy, T* dx) {
  const i64 size = v.d.size * v.h.size * v.w.size;
  for (i64 i = first_index(); i < v.batch * size * v.channels; i += index_step()) {
    const i64 channel = i % v.channels, n = i / v.channels / size;
    const Three p = three(i / v.channels % size, v.h.size, v.w.size);
    const Box box = box_over(v, p);
    Compute<T> sum = 0;
    for (i64 d = box.d.begin; d < box.d.end; ++d) {
      for (i64 h = box.h.begin; h < box.h.end; ++h) {
        for (i64 w = box.w.begin; w < box.w.end; ++w) {
          sum += load(dy, at(v.out, n, d, h, w, channel)) / static_cast<Compute<T>>(box_under(v, {d, h, w}).cells());
        }
      }
    }
    store(dx, at(v.in, n, p.d, p.h, p.w, channel), sum);
  }
}

#define ARGOSY_VOLUME_UNROLL(B) \
  ARGOSY_KERNEL(conv3d_unroll_##B, Volumes v, i64 first, i64 rows, const B* x, B* to) { unroll(v, first, rows, x, to); }
ARGOSY_VOLUME_UNROLL(b2)
ARGOSY_VOLUME_UNROLL(b4)
ARGOSY_VOLUME_UNROLL(b8)
#undef ARGOSY_VOLUME_UNROLL

#define ARGOSY_VOLUME(T)                                                                                  \
  ARGOSY_KERNEL(conv3d_roll_##T, Volumes v, i64 first, i64 rows, const T* from, T* x, int more) {         \
    roll(v, first, rows, from, x, more != 0);                                                             \
  }                                                                                                       \
  ARGOSY_KERNEL(pool3d_average_##T, Volumes v, const T* x, T* y) { pool<false>(v, x, y, Compute<T>(0)); } \
  ARGOSY_KERNEL(pool3d_max_pick_##T, Volumes v, const T* x, const T* y, const T* from, T* to) {           \
    max_pick(v, x, y, from, to);                                                                          \
  }                                                                                                       \
  ARGOSY_KERNEL(pool3d_average_back_##T, Volumes v, const T* dy, T* dx) { average_back(v, dy, dx); }
ARGOSY_VOLUME(f32)
ARGOSY_VOLUME(f64)
ARGOSY_VOLUME(f16)
ARGOSY_VOLUME(bf16)
#undef ARGOSY_VOLUME

#define ARGOSY_VOLUME_MAX(T)                                                                  \
  ARGOSY_KERNEL(pool3d_max_##T, Volumes v, const T* x, T* y) {                                \
    pool<true>(v, x, y, static_cast<Compute<T>>(-float_of_bits(0x7f800000u)));                \
  }                                                                                           \
  ARGOSY_KERNEL(pool3d_max_back_##T, Volumes v, const T* x, const T* y, const T* dy, T* dx) { \
    max_back(v, x, y, dy, dx);                                                                \
  }
ARGOSY_VOLUME_MAX(f32)
ARGOSY_VOLUME_MAX(f16)
ARGOSY_VOLUME_MAX(bf16)
#undef ARGOSY_VOLUME_MAX

}  // namespace argosy::cuda
