// Logits [time, batch, classes] in double precision, checked. Private to this folder's kernels.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy::ctc {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();

inline double log_sum(double a, double b) {
  if (a == kLogZero) return b;
  if (b == kLogZero) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

struct Frames {
  std::int64_t time = 0, batch = 0, classes = 0;
  std::vector<std::int64_t> lengths;
};
struct FrameRules {
  Code code;             // of the error for a length out of range
  bool decoder = false;  // for decoders: a length below 0 is 0; empty inputs are errors
};
Result<Frames> read_frames(std::string_view op, const Tensor& inputs, const Tensor& lengths, const FrameRules& rules);
// Reads the logits of one frame.
Status read_frame(const Tensor& inputs, const Frames& f, std::int64_t t, std::int64_t b, std::vector<double>& logits);
// Replaces logits by the logarithms of their probabilities.
void log_softmax(std::vector<double>& logits);

// Writes label sequences, one per example, as a sparse matrix: outputs first, first + step and first + 2 step.
Status write_sparse(KernelContext& c, int first, int step, const std::vector<std::vector<std::int64_t>>& rows);

void add_ctc_loss(KernelRegistry& kernels);
void add_edit_distance(KernelRegistry& kernels);

}  // namespace argosy::ctc
