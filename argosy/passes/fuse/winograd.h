// Marks convolutions that compute Winograd's way: 3x3 and 5x5 ones and their gradients, where that is faster
// (argosy/ops/conv/winograd/winograd.h). They run up to twice as fast. The rounding error is two to four times that of the direct
// algorithm, about 1e-6 of the result. A marked node has the attribute "_winograd". Kernels that do not know it compute
// directly.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// The transformed tiles and filters are scratch memory, which forecasts know (argosy/op/kernel/workspace.h) and no
// memory plan shares. It may be at most this part of the bytes that the step's nodes give.
inline constexpr double kWinogradScratchShare = 0.06;

// Returns how many nodes were marked.
Result<int> winograd(StepGraph& step, double scratch_share = kWinogradScratchShare);

}  // namespace argosy
