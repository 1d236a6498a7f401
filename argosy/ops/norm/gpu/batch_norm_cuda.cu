// Batch normalisation. Sums over rows are made in chunks, which are merged in order, so results are deterministic.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/norm/gpu/gpu_norm.h"

namespace argosy::cuda {

constexpr int kThreads = 128;  // of a block that sums

// The sum over the threads of one lane, for each of them; a power of two of lanes side by side.
ARGOSY_DEVICE f32 fold_lane(f32 value, f32* shared, int lanes) {
  const int me = threadIdx.x;
  __syncthreads();
  shared[me] = value;
  for (int step = kThreads / 2; step >= lanes; step /= 2) {
    __syncthreads();
    if (me < step) shared[me] += shared[me + step];
  }
  __syncthreads();
  return shared[me % lanes];
}

// A block's share of the work: call(first channel, first row, end, rows, chunk) of each of its threads, all together;
// channels beyond the last have no rows.
template <typename Call>
ARGOSY_DEVICE void for_chunks(const GpuChannels& g, const Call& call) {
  const i64 across = g.lanes * g.vec, tiles = (g.channels + across - 1) / across;
  for (i64 b = blockIdx.x; b < tiles * g.chunks; b += gridDim.x) {
    const i64 channel = b % tiles * across + threadIdx.x % g.lanes * g.vec, chunk = b / tiles;
    const i64 begin = g.rows() * chunk / g.chunks, end = g.rows() * (chunk + 1) / g.chunks;
    call(channel, begin, channel < g.channels ? end : begin, end - begin, chunk);
  }
}

// Rows that were looked at: how many, their mean, and the sum of squared distances from it.
struct Seen {
  f32 count, mean, squares;
};

// Both together (Chan, Golub and LeVeque 1979).
ARGOSY_DEVICE Seen merged(const Seen& a, const Seen& b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const f32 count = a.count + b.count, share = b.count / count, away = b.mean - a.mean;
  return {count, a.mean + away * share, a.squares + b.squares + away * away * a.count * share};
}

// What the threads of a lane have seen together, for the first of them.
ARGOSY_DEVICE Seen fold_seen(Seen seen, Seen* shared, int lanes) {
  const int me = threadIdx.x;
  __syncthreads();
  shared[me] = seen;
  for (int step = kThreads / 2; step >= lanes; step /= 2) {
    __syncthreads();
    if (me < step) shared[me] = merged(shared[me], shared[me + step]);
  }
  return shared[me];
}

// parts[chunk][2][channels]: the mean of the chunk, and the sum of squared distances from it. Rows are read once: sums
// are of distances from the mean of the rows that the thread has seen before, which moves on after every few rows. So
// little cancels, wherever single rows lie. Means are kept as distances from the chunk's first row: where all rows lie
// far from zero, those have more digits.
template <int kVec, typename T>
ARGOSY_DEVICE void moments_of(const GpuChannels& g, const T* x, f32* parts) {
  constexpr int kFew = 8;
  ARGOSY_SHARED Seen shared[kThreads];
  const int row = threadIdx.x / g.lanes, step = kThreads / g.lanes;
  for_chunks(g, [&](i64 channel, i64 begin, i64 end, i64, i64 chunk) {
    f32 start[kVec] = {}, center[kVec] = {}, total[kVec] = {}, count = 0;
    if (begin < end) {
      const Vec<T, kVec> first = load_vec<kVec>(x, g.at(begin, channel));
      ARGOSY_UNROLL
      for (int k = 0; k < kVec; ++k) {
        const f32 v = Number<T>::load(first.at[k]);
        start[k] = v - v == 0 ? v : 0.0f;  // finite
      }
    }
    if (begin + row < end) {
      const Vec<T, kVec> own = load_vec<kVec>(x, g.at(begin + row, channel));
      ARGOSY_UNROLL
      for (int k = 0; k < kVec; ++k) center[k] = Number<T>::load(own.at[k]) - start[k];
    }
    for (i64 r = begin + row; r < end;) {
      f32 sums[kVec] = {}, squares[kVec] = {};
      for (int few = 0; few < kFew && r < end; ++few, r += step) {
        const Vec<T, kVec> xs = load_vec<kVec>(x, g.at(r, channel));
        ARGOSY_UNROLL
        for (int k = 0; k < kVec; ++k) {
          const f32 away = Number<T>::load(xs.at[k]) - start[k] - center[k];
          sums[k] += away;
          squares[k] += away * away;
        }
        count += 1;
      }
      const f32 share = 1 / count;
      ARGOSY_UNROLL
      for (int k = 0; k < kVec; ++k) {
        const f32 away = sums[k] * share;
        center[k] += away;
        total[k] += squares[k] - sums[k] * away;
      }
    }
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) {
      const Seen seen = fold_seen({count, center[k], total[k]}, shared, g.lanes);
      if (row != 0 || channel >= g.channels) continue;
      parts[2 * chunk * g.channels + channel + k] = start[k] + seen.mean;
      parts[(2 * chunk + 1) * g.channels + channel + k] = seen.squares < 0 ? 0.0f : seen.squares;  // NaN stays
    }
  });
}
template <typename T>
ARGOSY_DEVICE void moments(const GpuChannels& g, const T* x, f32* parts) {
  if (g.vec == 1) {
    moments_of<1>(g, x, parts);
  } else {
    moments_of<kVecElements<T>>(g, x, parts);
  }
}

// Chunks merged (Chan, Golub and LeVeque 1979), then what becomes of a batch's statistics.
ARGOSY_KERNEL(batch_norm_statistics, GpuChannels g, const f32* parts, GpuBatchNorm n) {
  for (i64 c = first_index(); c < g.channels; c += index_step()) {
    f32 mean, variance;
    if (n.training) {
      f32 squares = parts[g.channels + c], rest = 0;
      mean = parts[c];
      for (int k = 1; k < g.chunks; ++k) {
        const i64 begin = g.rows() * k / g.chunks, end = g.rows() * (k + 1) / g.chunks;
        const f32 before = static_cast<f32>(begin), more = static_cast<f32>(end - begin);
        const f32 share = more / static_cast<f32>(end), away = parts[2 * k * g.channels + c] - mean - rest;
        const f32 further = away * share + rest, next = mean + further;
        rest = further - (next - mean);  // what the mean has no digits for
        mean = next;
        squares += parts[(2 * k + 1) * g.channels + c] + away * away * before * share;
      }
      const f32 rows = static_cast<f32>(g.rows());
      variance = squares / rows;
      f32 new_variance = squares * (1 / (rows > 2 ? rows - 1 : 1));  // Bessel's correction, as far as there is one
      f32 new_mean = mean;
      if (n.factor != 1) {
        new_mean = (1 - n.factor) * n.mean[c] + n.factor * new_mean;
        new_variance = (1 - n.factor) * n.variance[c] + n.factor * new_variance;
      }
      n.new_mean[c] = new_mean;
      n.new_variance[c] = new_variance;
    } else {
      n.new_mean[c] = mean = n.mean[c];
      n.new_variance[c] = variance = n.variance[c];
    }
    n.kept_mean[c] = mean;
    n.kept_variance[c] = variance;
    const f32 line = n.scale[c] / ::sqrt(variance + n.epsilon);
    n.line[c] = line;
    n.line[g.channels + c] = n.offset[c] - mean * line;
  }
}

// What becomes of statistics that the library leaves in new_mean and new_variance (the batch's, with Bessel's
// correction) and kept_mean; or, not training, of those that came in.
ARGOSY_KERNEL(batch_norm_library_statistics, i64 channels, i64 rows, GpuBatchNorm n) {
  for (i64 c = first_index(); c < channels; c += index_step()) {
    if (!n.training) {
      n.new_mean[c] = n.kept_mean[c] = n.mean[c];
      n.new_variance[c] = n.kept_variance[c] = n.variance[c];
      continue;
    }
    n.kept_variance[c] = n.new_variance[c] * (static_cast<f32>(rows - 1) / static_cast<f32>(rows));
    if (n.factor == 1) continue;
    n.new_mean[c] = (1 - n.factor) * n.mean[c] + n.factor * n.new_mean[c];
    n.new_variance[c] = (1 - n.factor) * n.variance[c] + n.factor * n.new_variance[c];
  }
}
ARGOSY_KERNEL(batch_norm_inverse_deviation, i64 channels, const f32* variance, f32 epsilon, f32* inverse) {
  for (i64 c = first_index(); c < channels; c += index_step()) inverse[c] = 1 / ::sqrt(variance[c] + epsilon);
}

// The channels of elements one behind the other.
struct ChannelWalk {
  i64 inner, channels, channel, left;  // so many more elements of this channel

  ARGOSY_DEVICE ChannelWalk(const GpuChannels& g, i64 element)
      : inner(g.inner),
        channels(g.channels),
        channel(element / g.inner),
        left(g.inner - (element - channel * g.inner)) {
    channel %= channels;
  }
  ARGOSY_DEVICE void next() {
    if (--left > 0) return;
    left = inner;
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
};

template <typename T>
ARGOSY_DEVICE void normalise(const GpuChannels& g, const T* x, const f32* line, const T* side, int relu, T* y) {
  constexpr int kVec = kVecElements<T>;
  const auto value = [=, &g](T at_x, T at_side, i64 c) {
    f32 v = Number<T>::load(at_x) * line[c] + line[g.channels + c];
    if (side != nullptr) v += Number<T>::load(at_side);
    return Number<T>::store(relu && v < 0 ? 0.0f : v);
  };
  const auto whole = [=, &g](i64 first) {
    const Vec<T, kVec> xs = load_vec<kVec>(x, first);
    const Vec<T, kVec> sides = side != nullptr ? load_vec<kVec>(side, first) : xs;
    Vec<T, kVec> ys;
    ChannelWalk at(g, first);
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k, at.next()) ys.at[k] = value(xs.at[k], sides.at[k], at.channel);
    store_vec<kVec>(y, first, ys);
  };
  const auto one = [=, &g](i64 e) { y[e] = value(x[e], side != nullptr ? side[e] : x[e], e / g.inner % g.channels); };
  for_vecs<kVec>(g.rows() * g.channels, are_vec_aligned<kVec>(x, side, y), first_index(), index_step(), whole, one);
}

// dy where the ReLU behind let something through: where y > 0. Null: everywhere.
ARGOSY_DEVICE f32 let_through(f32 dy, bool through) { return through ? dy : dy * 0.0f; }
template <typename T>
ARGOSY_DEVICE f32 let_through(const T* dy, const T* y, i64 e) {
  return let_through(load(dy, e), y == nullptr || load(y, e) > 0);
}

// parts[chunk][2][channels]: sums of dy and of dy * (x - mean).
template <int kVec, typename T>
ARGOSY_DEVICE void gradient_sums_of(const GpuChannels& g, const T* dy, const T* x, const T* y, const f32* mean,
                                    f32* parts) {
  ARGOSY_SHARED f32 shared[kThreads];
  const int row = threadIdx.x / g.lanes, step = kThreads / g.lanes;
  for_chunks(g, [&](i64 channel, i64 begin, i64 end, i64, i64 chunk) {
    f32 means[kVec] = {}, sums[kVec] = {}, sums_x[kVec] = {};
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) {
      if (channel < g.channels) means[k] = mean[channel + k];
    }
    for (i64 r = begin + row; r < end; r += step) {
      const i64 e = g.at(r, channel);
      const Vec<T, kVec> ds = load_vec<kVec>(dy, e), xs = load_vec<kVec>(x, e);
      const Vec<T, kVec> ys = y != nullptr ? load_vec<kVec>(y, e) : ds;
      ARGOSY_UNROLL
      for (int k = 0; k < kVec; ++k) {
        const f32 d = let_through(Number<T>::load(ds.at[k]), y == nullptr || Number<T>::load(ys.at[k]) > 0);
        sums[k] += d;
        sums_x[k] += d * (Number<T>::load(xs.at[k]) - means[k]);
      }
    }
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) {
      const f32 sum = fold_lane(sums[k], shared, g.lanes), sum_x = fold_lane(sums_x[k], shared, g.lanes);
      if (row != 0 || channel >= g.channels) continue;
      parts[2 * chunk * g.channels + channel + k] = sum;
      parts[(2 * chunk + 1) * g.channels + channel + k] = sum_x;
    }
  });
}
template <typename T>
ARGOSY_DEVICE void gradient_sums(const GpuChannels& g, const T* dy, const T* x, const T* y, const f32* mean,
                                 f32* parts) {
  if (g.vec == 1) {
    gradient_sums_of<1>(g, dy, x, y, mean, parts);
  } else {
    gradient_sums_of<kVecElements<T>>(g, dy, x, y, mean, parts);
  }
}

// With r = 1 / sqrt(variance + epsilon) and N rows:
//   dx = scale r (dy - sum_dy / N - (x - mean) r^2 sum_dyx / N)     training
//   dx = scale r dy                                                 else, the statistics being constants
// and dscale = r sum_dyx, doffset = sum_dy.
ARGOSY_KERNEL(batch_norm_gradient_statistics, GpuChannels g, const f32* parts, GpuBatchNormGradient n) {
  const f32 rows = static_cast<f32>(g.rows());
  for (i64 c = first_index(); c < g.channels; c += index_step()) {
    f32 sum = 0, sum_x = 0;
    for (int k = 0; k < g.chunks; ++k) {
      sum += parts[2 * k * g.channels + c];
      sum_x += parts[(2 * k + 1) * g.channels + c];
    }
    const f32 r = 1 / ::sqrt(n.variance[c] + n.epsilon), of_dy = n.scale[c] * r;
    const f32 of_x = n.training ? -of_dy * r * r * sum_x / rows : 0.0f;
    n.plane[c] = of_dy;
    n.plane[g.channels + c] = of_x;
    n.plane[2 * g.channels + c] = n.training ? -of_dy * sum / rows - of_x * n.mean[c] : 0.0f;
    n.dscale[c] = r * sum_x;
    n.doffset[c] = sum;
  }
}

// dx, and what the side input gets.
template <typename T>
ARGOSY_DEVICE void gradient(const GpuChannels& g, const T* dy, const T* x, const T* y, const f32* plane, T* dx,
                            T* side) {
  constexpr int kVec = kVecElements<T>;
  const auto slope = [=, &g](f32 d, f32 at_x, i64 c) {
    return d * plane[c] + at_x * plane[g.channels + c] + plane[2 * g.channels + c];
  };
  const auto whole = [=, &g](i64 first) {
    const Vec<T, kVec> ds = load_vec<kVec>(dy, first), xs = load_vec<kVec>(x, first);
    const Vec<T, kVec> ys = y != nullptr ? load_vec<kVec>(y, first) : ds;
    Vec<T, kVec> dxs, sides;
    ChannelWalk at(g, first);
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k, at.next()) {
      const f32 d = let_through(Number<T>::load(ds.at[k]), y == nullptr || Number<T>::load(ys.at[k]) > 0);
      sides.at[k] = Number<T>::store(d);
      dxs.at[k] = Number<T>::store(slope(d, Number<T>::load(xs.at[k]), at.channel));
    }
    if (side != nullptr) store_vec<kVec>(side, first, sides);
    store_vec<kVec>(dx, first, dxs);
  };
  const auto one = [=, &g](i64 e) {
    const f32 d = let_through(dy, y, e), at_x = load(x, e);
    if (side != nullptr) store(side, e, d);
    store(dx, e, slope(d, at_x, e / g.inner % g.channels));
  };
  for_vecs<kVec>(g.rows() * g.channels, are_vec_aligned<kVec>(dy, x, y, dx, side), first_index(), index_step(), whole,
                 one);
}

#define ARGOSY_BATCH_NORM(T)                                                                                          \
  ARGOSY_KERNEL(batch_norm_moments_##T, GpuChannels g, const T* x, f32* parts) { moments(g, x, parts); }              \
  ARGOSY_KERNEL(batch_norm_##T, GpuChannels g, const T* x, const f32* line, const T* side, int relu, T* y) {          \
    normalise(g, x, line, side, relu, y);                                                                             \
  }                                                                                                                   \
  ARGOSY_KERNEL(batch_norm_gradient_sums_##T, GpuChannels g, const T* dy, const T* x, const T* y, const f32* mean,    \
                f32* parts) {                                                                                         \
    gradient_sums(g, dy, x, y, mean, parts);                                                                          \
  }                                                                                                                   \
  ARGOSY_KERNEL(batch_norm_gradient_##T, GpuChannels g, const T* dy, const T* x, const T* y, const f32* plane, T* dx, \
                T* side) {                                                                                            \
    gradient(g, dy, x, y, plane, dx, side);                                                                           \
  }
ARGOSY_BATCH_NORM(f32)
ARGOSY_BATCH_NORM(f16)
ARGOSY_BATCH_NORM(bf16)

}  // namespace argosy::cuda
