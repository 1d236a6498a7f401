#include "argosy/ops/conv/winograd/winograd.h"

#include <algorithm>

namespace argosy {

namespace {

constexpr std::int64_t kLanes = 16;     // whole vectors, whatever their length
constexpr std::int64_t kChannels = 32;  // fewer: the transforms outweigh the products
constexpr std::int64_t kPanel = 64;     // output channels multiplied at once, at most
constexpr std::int64_t kRows = 6;       // tiles multiplied at once
constexpr std::int64_t kTiles = 64;     // fewer: transforming the filter outweighs the products
// For filter_outweighs(): the filter has at least 128 x 64 channels, and there are at most kFewTiles tiles. Then
// transforming the filter block by block is faster.
constexpr std::int64_t kTilesPerBlock = 16, kLargeFilter = 8192, kFewTiles = 160;
constexpr double kUsed = 0.7;  // of the tiles' outputs: 7x7 images fill 0.77 of theirs

bool fits(const WindowAxis& a) {
  return (a.window == 3 || a.window == 5) && a.stride == 1 && a.dilation == 1 && a.pad_before < a.window &&
         a.pad_after < a.window;
}

}  // namespace

bool winograd_pays(const ConvAttrs& attrs, const ConvGeometry& g) {
  if (attrs.depthwise || attrs.nchw || g.groups != 1) return false;
  if (!fits(g.h) || !fits(g.w) || g.h.window != g.w.window) return false;
  if (g.in_c % kLanes != 0 || g.out_c % kLanes != 0 || std::min(g.in_c, g.out_c) < kChannels) return false;
  const WinogradTiles t = WinogradTiles::of(g, true);
  if (t.tiles() < (t.filter_outweighs() ? kTilesPerBlock : kTiles)) return false;
  const std::int64_t outputs = t.rows() * t.columns() * t.step() * t.step();
  return static_cast<double>(g.h.out * g.w.out) >= kUsed * static_cast<double>(outputs);
}

WinogradTiles WinogradTiles::of(const ConvGeometry& g, bool forward) {
  const std::int64_t r = g.h.window;
  if (forward) {
    return {g.batch, g.h.in, g.w.in, g.in_c, g.h.out, g.w.out, g.out_c, g.h.pad_before, g.w.pad_before, r};
  }
  return {g.batch, g.h.out, g.w.out, g.out_c, g.h.in, g.w.in, g.in_c, r - 1 - g.h.pad_before, r - 1 - g.w.pad_before,
          r};
}

bool WinogradTiles::filter_outweighs() const { return in_c * out_c >= kLargeFilter && tiles() <= kFewTiles; }

bool WinogradTiles::by_float_tiles() const {
  constexpr std::int64_t kLargest = 64 * 64;  // filters whose parts weigh 0.9 MB
  return in_c % float_tiles::kPanel == 0 && out_c % float_tiles::kPanel == 0 && in_c * out_c <= kLargest &&
         has_float_tiles();
}

std::int64_t WinogradTiles::slide_block() const {
  constexpr std::int64_t kCache = (512 << 10) / sizeof(float);
  const std::int64_t fit = kCache / (kProducts * (in_c + std::min(out_c, kPanel)));
  return std::clamp<std::int64_t>(fit, 48, 96) / kRows * kRows;  // fewer would read the filter too often
}

std::int64_t WinogradTiles::sum_shards() const {
  constexpr std::int64_t kUnits = 8;  // of work, at least
  const std::int64_t blocks = in_blocks() * out_blocks();
  return std::clamp<std::int64_t>(tiles() / kSumTiles, 1, (kUnits + blocks - 1) / blocks);
}

namespace {

// `kept`: the shards whose sums are in memory at once. 0: each thread has the sums of one block, and `more` elements.
std::size_t sum_bytes(const WinogradTiles& t, std::int64_t kept, std::int64_t more, int threads) {
  const std::int64_t sums = kept * t.in_blocks() * t.out_blocks() * t.sum_elements();
  const std::int64_t of_thread =
      2 * WinogradTiles::kProducts * WinogradTiles::kFactorOffset + more + (kept > 0 ? 0 : t.sum_elements());
  return static_cast<std::size_t>(sums + threads * of_thread) * sizeof(float);
}

}  // namespace

std::size_t winograd_scratch_bytes(const ConvGeometry& g, int threads) {
  std::int64_t most = 0;
  std::size_t most_bytes = 0;
  for (const bool forward : {true, false}) {
    const WinogradTiles t = WinogradTiles::of(g, forward);
    if (t.by_float_tiles()) {
      most_bytes = std::max(most_bytes, WinogradFloatTiles(t).scratch_bytes(threads));
      continue;
    }
    constexpr std::int64_t kProducts = WinogradTiles::kProducts;
    if (t.filter_outweighs()) {
      const std::int64_t sums = t.tiles() * kPanel + WinogradTiles::kOffset;
      most = std::max(most, t.in_blocks() * kProducts * t.image_offset() +
                                threads * kProducts * (WinogradTiles::kFilterOffset + sums));
      continue;
    }
    const std::int64_t image = t.slide_block() * t.in_c + WinogradTiles::kOffset;
    const std::int64_t sums = t.slide_block() * std::min(t.out_c, kPanel) + WinogradTiles::kOffset;
    most = std::max(most, t.filter_elements() + threads * kProducts * (image + sums));
  }
  const WinogradTiles t = WinogradTiles::of(g, true);
  const std::int64_t kept = t.sum_shards() > 1 ? t.sum_shards() : 0;
  return std::max({static_cast<std::size_t>(most) * sizeof(float), most_bytes, sum_bytes(t, kept, 0, threads)});
}

bool WinogradTiles::all_chunks_fit(std::int64_t parts) const {
  const std::int64_t images = batch * (in_h * in_w * in_c + out_h * out_w * out_c);
  return parts > 1 && parts * in_blocks() * out_blocks() * sum_elements() <= 2 * images;
}

std::size_t winograd_chunks_bytes(const ConvGeometry& g, int parts, int threads) {
  const WinogradTiles t = WinogradTiles::of(g, true);
  return t.all_chunks_fit(parts) ? sum_bytes(t, parts, 0, threads)
                                 : sum_bytes(t, 0, WinogradTiles::kTreeLevels * t.block_filter(), threads);
}

}  // namespace argosy
