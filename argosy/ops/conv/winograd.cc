#include "argosy/ops/conv/winograd.h"

#include <algorithm>

namespace argosy {

namespace {

constexpr std::int64_t kTile = 4;       // outputs along an axis
constexpr std::int64_t kLanes = 16;     // oneDNN's channel blocks
constexpr std::int64_t kChannels = 32;  // fewer: the transforms outweigh the products
// Filters are transformed on every call: 512 to 512 channels need 128 tiles (with 32, 0.9 times as fast), few channels
// 64.
constexpr std::int64_t kTiles = 64, kFiltersPerTile = 2048;
constexpr double kUsed = 0.7;  // of the tiles' outputs: 7x7 images fill 0.77 of theirs

bool fits(const WindowAxis& a) {
  return a.window == 3 && a.stride == 1 && a.dilation == 1 && a.pad_before <= 1 && a.pad_after <= 1;
}
std::int64_t tiles(const WindowAxis& a) { return (a.out + kTile - 1) / kTile; }

}  // namespace

bool winograd_pays(const ConvAttrs& attrs, const ConvGeometry& g) {
  if (attrs.depthwise || g.groups != 1 || !fits(g.h) || !fits(g.w)) return false;
  if (g.in_c % kLanes != 0 || g.out_c % kLanes != 0 || std::min(g.in_c, g.out_c) < kChannels) return false;
  const std::int64_t all = g.batch * tiles(g.h) * tiles(g.w);
  if (all < std::max(kTiles, g.in_c * g.out_c / kFiltersPerTile)) return false;
  return static_cast<double>(g.h.out * g.w.out) >= kUsed * static_cast<double>(tiles(g.h) * tiles(g.w) * kTile * kTile);
}

}  // namespace argosy
