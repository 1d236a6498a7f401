// 3x3 convolutions and their gradients compute Winograd's way where that is faster (argosy/ops/conv/winograd.h): about
// twice as fast, at about twice the rounding error of sliding, still some 1e-6 of the result. The nodes stay what they
// are and get the attribute "_winograd"; kernels that do not know it, or machines that have no such products, slide.
#pragma once

#include "argosy/passes/extract.h"

namespace argosy {

// The transformed tiles and filters are scratch memory, which no memory plan knows: 16 MiB and three transformed
// filters at most, as measured. They may add up to this share of what the step's nodes give, so that the forecast of
// its peak stays true to some percent; smaller steps slide.
inline constexpr double kWinogradScratchShare = 0.04;

// How many nodes were marked.
Result<int> winograd(StepGraph& step, double scratch_share = kWinogradScratchShare);

}  // namespace argosy
