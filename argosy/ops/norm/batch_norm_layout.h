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

// Where channel c of x is: outer x channels x inner; inner is 1 where channels come last.
struct Layout {
  std::int64_t outer = 1, channels = 0, inner = 1;
  std::int64_t count() const { return outer * inner; }  // elements of one channel
};

struct Options {
  std::string op;
  float epsilon = 0, factor = 1;
  bool training = true, channels_first = false;
  int rank = 4;
  bool relu = false;  // of the fused ops: what follows, and how many tensors are added before it
  int sides = 0;

  static Result<Options> read(const KernelInit& init);
  Result<Layout> layout(const Shape& x) const;
  // Of x * factor + shift, which is what normalising comes to.
  float factor_of(float scale, float variance) const { return scale / std::sqrt(variance + epsilon); }
  static float shift_of(float offset, float mean, float factor) { return offset - mean * factor; }
};

// INVALID_ARGUMENT unless input i is a vector of one number a channel.
Status must_be_channels(KernelContext& c, const Options& o, int i, std::int64_t channels);

// Blocks of rows, few enough to be cheap to merge; their number does not depend on the team.
std::int64_t blocks_of(const Layout& l);
std::int64_t row_grain(const Layout& l);

// A float32 view of x: itself, or a widened copy in `memory`.
Result<const float*> as_float(KernelContext& c, const Tensor& x, Buffer& memory);

}  // namespace argosy::batch_norm
