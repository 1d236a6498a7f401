// Pooling: one thread per element of the result. In gradients, the thread of an image's element sums over the windows
// that contain it, so there are no atomic additions.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/conv/gpu/windows_cuda.h"

namespace argosy::cuda {

// Rows (or columns) of the image under window `o`.
ARGOSY_DEVICE i64 first_under(const GpuAxis& a, i64 o) {
  const i64 at = o * a.stride - a.pad;
  return at < 0 ? 0 : at;
}
ARGOSY_DEVICE i64 end_under(const GpuAxis& a, i64 o) {
  const i64 end = o * a.stride - a.pad + a.window;
  return end < a.in ? end : a.in;
}
// Windows over row i: from first_over to last_over.
ARGOSY_DEVICE i64 first_over(const GpuAxis& a, i64 i) {
  const i64 from = i + a.pad - a.window + 1;
  return from <= 0 ? 0 : (from + a.stride - 1) / a.stride;
}
ARGOSY_DEVICE i64 last_over(const GpuAxis& a, i64 i) {
  const i64 last = (i + a.pad) / a.stride;
  return last < a.out ? last : a.out - 1;
}

struct Place {
  i64 n, y, x, c;
};
ARGOSY_DEVICE Place place_of(i64 e, i64 h, i64 w, i64 channels) {
  return {e / channels / w / h, e / channels / w % h, e / channels % w, e % channels};
}
ARGOSY_DEVICE i64 in_offset(const GpuPool& g, i64 n, i64 y, i64 x, i64 c) {
  return ((n * g.h.in + y) * g.w.in + x) * g.channels + c;
}

// The search starts below everything: NaN and -infinity never win.
template <typename T>
ARGOSY_DEVICE void max_forward(const GpuPool& g, const T* x, T* y, Compute<T> lowest) {
  for (i64 e = first_index(); e < g.images * g.h.out * g.w.out * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.out, g.w.out, g.channels);
    Compute<T> best = lowest;
    for (i64 iy = first_under(g.h, p.y); iy < end_under(g.h, p.y); ++iy) {
      for (i64 ix = first_under(g.w, p.x); ix < end_under(g.w, p.x); ++ix) {
        const Compute<T> v = load(x, in_offset(g, p.n, iy, ix, p.c));
        best = best < v ? v : best;
      }
    }
    store(y, e, best);
  }
}

// Is element e, of value v, the first largest under the window? A NaN counts where it is the window's first element,
// and then it is what is asked for. Most elements are not, and the first larger one says so.
template <typename T>
ARGOSY_DEVICE bool is_largest_under(const GpuPool& g, const T* x, i64 e, Compute<T> v, i64 n, i64 oy, i64 ox, i64 c) {
  const i64 width = (end_under(g.w, ox) - first_under(g.w, ox)) * g.channels, below = g.w.in * g.channels;
  i64 row = in_offset(g, n, first_under(g.h, oy), first_under(g.w, ox), c);
  const Compute<T> first = load(x, row);
  if (first != first) return e == row;
  if (v != v) return false;
  for (i64 rows = end_under(g.h, oy) - first_under(g.h, oy); rows > 0; --rows, row += below) {
    for (i64 at = row; at < row + width; at += g.channels) {
      const Compute<T> other = load(x, at);
      if (v < other || (other == v && at < e)) return false;
    }
  }
  return true;
}
template <typename T>
ARGOSY_DEVICE void max_backward(const GpuPool& g, const T* x, const T* dy, T* dx) {
  for (i64 e = first_index(); e < g.images * g.h.in * g.w.in * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.in, g.w.in, g.channels);
    const Compute<T> v = load(x, e);
    Compute<T> sum = Compute<T>(0);
    for (i64 oy = first_over(g.h, p.y); oy <= last_over(g.h, p.y); ++oy) {
      for (i64 ox = first_over(g.w, p.x); ox <= last_over(g.w, p.x); ++ox) {
        if (!is_largest_under(g, x, e, v, p.n, oy, ox, p.c)) continue;
        sum += load(dy, ((p.n * g.h.out + oy) * g.w.out + ox) * g.channels + p.c);
      }
    }
    store(dx, e, sum);
  }
}

// The first largest element under a window; the search starts at its first, and a NaN there wins.
template <typename T>
ARGOSY_DEVICE i64 largest_under(const GpuPool& g, const T* x, i64 n, i64 oy, i64 ox, i64 c) {
  i64 at_best = in_offset(g, n, first_under(g.h, oy), first_under(g.w, ox), c);
  Compute<T> best = load(x, at_best);
  for (i64 iy = first_under(g.h, oy); iy < end_under(g.h, oy); ++iy) {
    for (i64 ix = first_under(g.w, ox); ix < end_under(g.w, ox); ++ix) {
      const i64 at = in_offset(g, n, iy, ix, c);
      const Compute<T> v = load(x, at);
      if (best < v) best = v, at_best = at;
    }
  }
  return at_best;
}

// `from`, read where the largest elements of x lie.
template <typename T>
ARGOSY_DEVICE void max_pick(const GpuPool& g, const T* x, const T* from, T* to) {
  for (i64 e = first_index(); e < g.images * g.h.out * g.w.out * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.out, g.w.out, g.channels);
    to[e] = from[largest_under(g, x, p.n, p.y, p.x, p.c)];
  }
}
// The largest elements, and where they lie: counted from the start of `within` elements, an image or all of them.
template <typename T>
ARGOSY_DEVICE void max_with_places(const GpuPool& g, i64 within, const T* x, T* y, i64* places) {
  for (i64 e = first_index(); e < g.images * g.h.out * g.w.out * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.out, g.w.out, g.channels);
    const i64 at = largest_under(g, x, p.n, p.y, p.x, p.c);
    y[e] = x[at];
    places[e] = at % within;
  }
}
// Each element asks the windows it lies under whether they name it.
template <typename T>
ARGOSY_DEVICE void max_places_backward(const GpuPool& g, i64 within, const T* dy, const i64* places, T* dx) {
  for (i64 e = first_index(); e < g.images * g.h.in * g.w.in * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.in, g.w.in, g.channels);
    Compute<T> sum = Compute<T>(0);
    for (i64 oy = first_over(g.h, p.y); oy <= last_over(g.h, p.y); ++oy) {
      for (i64 ox = first_over(g.w, p.x); ox <= last_over(g.w, p.x); ++ox) {
        const i64 window = ((p.n * g.h.out + oy) * g.w.out + ox) * g.channels + p.c;
        if (places[window] == e % within) sum += load(dy, window);
      }
    }
    store(dx, e, sum);
  }
}

template <typename A>
ARGOSY_DEVICE A cells_under(const GpuPool& g, i64 oy, i64 ox) {
  return static_cast<A>((end_under(g.h, oy) - first_under(g.h, oy)) * (end_under(g.w, ox) - first_under(g.w, ox)));
}
template <typename T>
ARGOSY_DEVICE void avg_forward(const GpuPool& g, const T* x, T* y) {
  for (i64 e = first_index(); e < g.images * g.h.out * g.w.out * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.out, g.w.out, g.channels);
    Compute<T> sum = Compute<T>(0);
    for (i64 iy = first_under(g.h, p.y); iy < end_under(g.h, p.y); ++iy) {
      for (i64 ix = first_under(g.w, p.x); ix < end_under(g.w, p.x); ++ix)
        sum += load(x, in_offset(g, p.n, iy, ix, p.c));
    }
    store(y, e, sum / cells_under<Compute<T>>(g, p.y, p.x));
  }
}
template <typename T>
ARGOSY_DEVICE void avg_backward(const GpuPool& g, const T* dy, T* dx) {
  for (i64 e = first_index(); e < g.images * g.h.in * g.w.in * g.channels; e += index_step()) {
    const Place p = place_of(e, g.h.in, g.w.in, g.channels);
    Compute<T> sum = Compute<T>(0);
    for (i64 oy = first_over(g.h, p.y); oy <= last_over(g.h, p.y); ++oy) {
      for (i64 ox = first_over(g.w, p.x); ox <= last_over(g.w, p.x); ++ox) {
        sum += load(dy, ((p.n * g.h.out + oy) * g.w.out + ox) * g.channels + p.c) / cells_under<Compute<T>>(g, oy, ox);
      }
    }
    store(dx, e, sum);
  }
}

#define ARGOSY_POOL(T, lowest)                                                                                \
  ARGOSY_KERNEL(max_pool_##T, GpuPool g, const T* x, T* y) { max_forward(g, x, y, lowest); }                  \
  ARGOSY_KERNEL(max_pool_grad_##T, GpuPool g, const T* x, const T* dy, T* dx) { max_backward(g, x, dy, dx); } \
  ARGOSY_KERNEL(max_pool_pick_##T, GpuPool g, const T* x, const T* from, T* to) { max_pick(g, x, from, to); } \
  ARGOSY_KERNEL(max_pool_argmax_##T, GpuPool g, i64 within, const T* x, T* y, i64* places) {                  \
    max_with_places(g, within, x, y, places);                                                                 \
  }                                                                                                           \
  ARGOSY_KERNEL(max_pool_argmax_grad_##T, GpuPool g, i64 within, const T* dy, const i64* places, T* dx) {     \
    max_places_backward(g, within, dy, places, dx);                                                           \
  }                                                                                                           \
  ARGOSY_KERNEL(avg_pool_##T, GpuPool g, const T* x, T* y) { avg_forward(g, x, y); }                          \
  ARGOSY_KERNEL(avg_pool_grad_##T, GpuPool g, const T* dy, T* dx) { avg_backward(g, dy, dx); }
ARGOSY_POOL(f32, -3.40282346638528859812e+38f)
ARGOSY_POOL(f64, -1.79769313486231570815e+308)
ARGOSY_POOL(f16, -65504.0f)
ARGOSY_POOL(bf16, -3.38953138925153547590e+38f)

}  // namespace argosy::cuda
