// Fake quantisation: rounds numbers to few levels, by the formulas of quantize_cpu.cc.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

// One pair of limits for each of `channels` channels, innermost: on the GPU, or, where `low` is null, these two.
struct FakeQuant {
  i64 n, channels;
  const f32 *low, *high;
  f32 fixed_low, fixed_high, lowest, highest;
};

// Rounded step by step, as on the CPU: on which level a number lies must not hang on a last bit.
ARGOSY_DEVICE f32 times(f32 a, f32 b) {
#if defined(__CUDACC__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

struct Nudged {
  f32 low, high, scale;
  bool unset;  // limits that nobody has found yet

  ARGOSY_DEVICE f32 operator()(f32 x) const {
    const f32 clamped = x < low ? low : x > high ? high : x;
    return times(::floor(times(clamped - low, 1.0f / scale) + 0.5f), scale) + low;
  }
};
ARGOSY_DEVICE Nudged nudged(const FakeQuant& q, i64 channel) {
  const f32 min = q.low == nullptr ? q.fixed_low : q.low[channel],
            max = q.low == nullptr ? q.fixed_high : q.high[channel];
  const f32 scale = (max - min) / (q.highest - q.lowest), zero = q.lowest - min / scale;
  const f32 level = zero < q.lowest ? q.lowest : zero > q.highest ? q.highest : ::round(zero);
  return {times(q.lowest - level, scale), times(q.highest - level, scale), scale, min == 0.0f && max == 0.0f};
}

ARGOSY_KERNEL(fake_quant, FakeQuant q, const f32* x, f32* y) {
  for (i64 i = first_index(); i < q.n; i += index_step()) {
    const Nudged nudge = nudged(q, i % q.channels);
    y[i] = nudge.unset ? 0.0f : nudge(x[i]);
  }
}

// Products with 0 and 1: what is not finite stays so. NaN lies nowhere.
ARGOSY_KERNEL(fake_quant_back, FakeQuant q, const f32* dy, const f32* x, f32* dx) {
  for (i64 i = first_index(); i < q.n; i += index_step()) {
    const Nudged nudge = nudged(q, i % q.channels);
    dx[i] = nudge.unset || (x[i] >= nudge.low && x[i] <= nudge.high) ? dy[i] : dy[i] * 0.0f;
  }
}

// What flows back into the limits: sums of what lies beyond them, a block a channel.
ARGOSY_KERNEL(fake_quant_limits_back, FakeQuant q, const f32* dy, const f32* x, f32* d_low, f32* d_high) {
  ARGOSY_SHARED f64 scratch[32];
  const auto add = [](f64 a, f64 b) { return a + b; };
  for (i64 channel = blockIdx.x; channel < q.channels; channel += gridDim.x) {
    const Nudged nudge = nudged(q, channel);
    f64 below = 0, above = 0;
    for (i64 i = channel + threadIdx.x * q.channels; i < q.n; i += blockDim.x * q.channels) {
      const f32 nothing = dy[i] * 0.0f;
      below += !nudge.unset && x[i] < nudge.low ? dy[i] : nothing;
      above += !nudge.unset && x[i] > nudge.high ? dy[i] : nothing;
    }
    below = block_reduce(below, scratch, add);
    above = block_reduce(above, scratch, add);
    if (threadIdx.x == 0) {
      d_low[channel] = static_cast<f32>(below);
      d_high[channel] = static_cast<f32>(above);
    }
  }
}

}  // namespace argosy::cuda
