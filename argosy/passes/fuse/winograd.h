// Marks convolutions for Winograd's algorithm: 3x3 and 5x5 ones and their gradients, where that is faster
// (argosy/ops/conv/winograd/winograd.h). They run up to twice as fast. The rounding error is two to four times that of
// the direct algorithm, about 1e-6 of the result. A marked node has the attribute "_winograd". Kernels that do not know
// it compute directly.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// The limit of scratch memory for transformed tiles and filters, as a fraction of the bytes of all outputs of the
// step's nodes. Forecasts count this scratch (argosy/op/kernel/workspace.h), but it is outside the step's memory plan.
inline constexpr double kWinogradScratchShare = 0.06;

// Returns how many nodes were marked.
Result<int> winograd(StepGraph& step, double scratch_share = kWinogradScratchShare);

}  // namespace argosy
