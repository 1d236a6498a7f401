// What the kernels of batch normalisation share: attributes, the layout of channels, blocks of rows. Private to this
// folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy::batch_norm {

using Types = TypeList<float, bfloat16, float16>;

// The shape of x as [outer, channels, inner]; inner is 1 where channels are the last axis.
struct Layout {
  std::int64_t outer = 1, channels = 0, inner = 1;
  std::int64_t count() const { return outer * inner; }  // elements of one channel
};

struct Options {
  std::string op;
  float epsilon = 0, factor = 1;
  bool training = true, channels_first = false;
  int rank = 4;
  bool relu = false;  // fused ops: a ReLU follows; `sides`: how many side inputs (0 or 1) are added before it
  int sides = 0;

  static Result<Options> read(const KernelInit& init);
  Result<Layout> layout(const Shape& x) const;
  // Normalisation is y = x * factor + shift per channel, with this factor and shift.
  float factor_of(float scale, float variance) const { return scale / std::sqrt(variance + epsilon); }
  static float shift_of(float offset, float mean, float factor) { return offset - mean * factor; }
};

// INVALID_ARGUMENT unless input i is a vector of shape [channels].
Status must_be_channels(KernelContext& c, const Options& o, int i, std::int64_t channels);

// The number of blocks of rows whose statistics are computed apart and then merged: at most 32. It does not depend on
// the number of threads. row_grain(): the least rows that are worth a task of their own.
std::int64_t blocks_of(const Layout& l);
std::int64_t row_grain(const Layout& l);

// A float32 view of x: itself, or a widened copy in `memory`.
Result<const float*> as_float(KernelContext& c, const Tensor& x, Buffer& memory);

}  // namespace argosy::batch_norm
