// Winograd's convolution: 3x3 windows in tiles of 4x4 outputs, each from 36 products where sliding takes 144 (Lavin and
// Gray, arXiv 1509.09308). oneDNN has it for float32 and AVX-512. Every fourth multiplication is left; the transforms
// around them cost what images and filter weigh, so few tiles or few channels are slower for it.
//
// Rounding: held against double, its root mean square error is 0.4-2.2e-6 of the result's, where sliding's is
// 0.1-1.3e-6 (64-512 channels, all three products); the test states the bound.
#pragma once

#include "argosy/ops/conv/geometry.h"

namespace argosy {

// On a node: run it this way where the machine can. Set by the pass `winograd`.
inline constexpr const char* kWinogradAttr = "_winograd";

// Is it faster for this convolution, and for both its gradients? A rule measured on two cores of a Xeon with AVX-512
// (1.2-2.2 times as fast where it says yes); it knows shapes only, so that equal shards compute equal bits anywhere.
bool winograd_pays(const ConvAttrs& attrs, const ConvGeometry& g);

}  // namespace argosy
