// Kernels of ops that only move elements, but not along strides: bands of matrices, sequences turned round; and what
// flows back through a mirrored frame.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

// Of matrices rows x columns, what lies `lower` below the diagonal to `upper` above it; else 0. May be in place.
template <typename B>
ARGOSY_DEVICE void band_part(i64 n, i64 rows, i64 columns, i64 lower, i64 upper, const B* from, B* to) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 row = i / columns % rows, column = i % columns;
    to[i] = column >= row - lower && column <= row + upper ? from[i] : B{};
  }
}

// Of axis `seq`, the first lengths[b] elements in the other order; where a length does not fit, as many as there are.
struct Sequences {
  i64 seq_size, seq_stride, batch_size, batch_stride;
};
template <typename B, typename Length>
ARGOSY_DEVICE void reverse_sequence(i64 n, const B* from, B* to, const Length* lengths, const Sequences& s) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 at = i / s.seq_stride % s.seq_size;
    i64 length = static_cast<i64>(lengths[i / s.batch_stride % s.batch_size]);
    if (length > s.seq_size) length = s.seq_size;
    to[i] = from[at < length ? i + (length - 1 - 2 * at) * s.seq_stride : i];
  }
}

#define ARGOSY_MOVES(B)                                                                                     \
  ARGOSY_KERNEL(band_part_##B, i64 n, i64 rows, i64 columns, i64 lower, i64 upper, const B* from, B* to) {  \
    band_part(n, rows, columns, lower, upper, from, to);                                                    \
  }                                                                                                         \
  ARGOSY_KERNEL(reverse_sequence_##B##_i32, i64 n, const B* from, B* to, const i32* lengths, Sequences s) { \
    reverse_sequence(n, from, to, lengths, s);                                                              \
  }                                                                                                         \
  ARGOSY_KERNEL(reverse_sequence_##B##_i64, i64 n, const B* from, B* to, const i64* lengths, Sequences s) { \
    reverse_sequence(n, from, to, lengths, s);                                                              \
  }
ARGOSY_MOVES(b1)
ARGOSY_MOVES(b2)
ARGOSY_MOVES(b4)
ARGOSY_MOVES(b8)
ARGOSY_MOVES(b16)
#undef ARGOSY_MOVES

// The centre of a mirrored frame, axes outermost first: `sizes` are the centre's, `strides` the whole's. edge: 1 where
// the outermost elements of the centre are not mirrored (REFLECT), else 0.
struct Frame {
  static constexpr int kMaxRank = 8;
  int rank, edge;
  i64 sizes[kMaxRank], before[kMaxRank], after[kMaxRank], strides[kMaxRank];
};

// dx = the sum of all that was made of an element: itself, and along each axis one in the frame before, one behind.
template <typename T>
ARGOSY_DEVICE void mirror_back(i64 n, const T* dy, T* dx, const Frame& f) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    i64 places[Frame::kMaxRank][3];
    int count[Frame::kMaxRank], at[Frame::kMaxRank];
    i64 rest = i;
    for (int axis = f.rank - 1; axis >= 0; --axis) {
      const i64 size = f.sizes[axis], here = rest % size, first = f.before[axis];
      rest /= size;
      int k = 0;
      places[axis][k++] = (first + here) * f.strides[axis];
      const i64 above = here + 1 - f.edge, below = size - f.edge - here;  // steps outside of the centre
      if (above >= 1 && above <= first) places[axis][k++] = (first - above) * f.strides[axis];
      if (below >= 1 && below <= f.after[axis]) places[axis][k++] = (first + size - 1 + below) * f.strides[axis];
      count[axis] = k;
      at[axis] = 0;
    }
    Compute<T> sum = 0;
    for (int axis = 0; axis >= 0;) {
      i64 place = 0;
      for (int a = 0; a < f.rank; ++a) place += places[a][at[a]];
      sum = sum + load(dy, place);
      for (axis = f.rank - 1; axis >= 0 && ++at[axis] == count[axis]; --axis) at[axis] = 0;
    }
    store(dx, i, sum);
  }
}

#define ARGOSY_MIRROR_BACK(T) \
  ARGOSY_KERNEL(mirror_back_##T, i64 n, const T* dy, T* dx, Frame frame) { mirror_back(n, dy, dx, frame); }
ARGOSY_MIRROR_BACK(f32)
ARGOSY_MIRROR_BACK(f64)
ARGOSY_MIRROR_BACK(f16)
ARGOSY_MIRROR_BACK(bf16)
#undef ARGOSY_MIRROR_BACK

}  // namespace argosy::cuda
