// 3x3 and 5x5 convolutions and their gradients compute Winograd's way where that is faster
// (argosy/ops/conv/winograd.h): up to twice as fast, at two to four times the rounding error of sliding, still some
// 1e-6 of the result. The nodes stay what they are and get the attribute "_winograd"; kernels that do not know it
// slide.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// The transformed tiles and filters are scratch memory: forecasts know it (argosy/op/kernel/scratch.h), no memory plan shares
// it. It may be this share of what the step's nodes give; smaller steps slide.
inline constexpr double kWinogradScratchShare = 0.06;

// How many nodes were marked.
Result<int> winograd(StepGraph& step, double scratch_share = kWinogradScratchShare);

}  // namespace argosy
