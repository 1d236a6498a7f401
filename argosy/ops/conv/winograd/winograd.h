// Winograd's convolution: which convolutions are computed that way, and in which blocks. A tile of 6x6 inputs takes 36
// products per pair of channels. It gives 4x4 outputs of a 3x3 window (sliding takes 144) or 2x2 of a 5x5 one (100).
// F(4x4, 3x3) and F(2x2, 5x5): Lavin and Gray, arXiv 1509.09308, with the points 0, 1, -1, 2, -2 and infinity.
// The transforms around the products cost what images and filter weigh, so few tiles or few channels are slower for it.
//
// Rounding, held against double: the root mean square error is 0.4-2.2e-6 of the result's for 3x3 windows and up to
// 4.5e-6 for 5x5 ones. Sliding has 0.1-1.3e-6. The test of the pass states the bounds.
//
// An output whose window sees zeros alone is exactly zero, as in sliding: a ReLU after it has the same gradient.
//
// A NaN or an infinity in an image spoils all outputs of the tiles that read it, as NaN or an infinity, where sliding
// spoils those whose windows read it. Other tiles and other images keep their bits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/matmul/float_tiles.h"

namespace argosy {

// On a node: run it this way. Set by the pass `winograd`.
inline constexpr const char* kWinogradAttr = "_winograd";

// Is it faster for this convolution, and for both its gradients? A rule that knows shapes only, so that equal shards
// compute equal bits anywhere. Its bounds were found on two cores of a Xeon with AVX-512.
bool winograd_pays(const ConvAttrs& attrs, const ConvGeometry& g);

// Scratch memory of its products, the largest of the three, with so many threads.
std::size_t winograd_scratch_bytes(const ConvGeometry& g, int threads);
// Scratch memory of the filter's gradient, summed in so many chunks of the batch (argosy/ops/collective/reduction_chunks.h).
std::size_t winograd_chunks_bytes(const ConvGeometry& g, int parts, int threads);

// The image that is slid over, in tiles of kTile x kTile that overlap by window - 1.
struct WinogradTiles {
  static constexpr std::int64_t kTile = 6, kProducts = kTile * kTile;
  // Distances between products are odd multiples of a vector: a power of two would put all 36 into the same cache
  // lines.
  static constexpr std::int64_t kOffset = 16;
  // The filter's gradient is added up in blocks of so many input and output channels, over so many tiles at once: sums
  // and factors stay in a core's cache.
  static constexpr std::int64_t kBlock = 64, kSumTiles = 36;
  static constexpr std::int64_t kFactorOffset = kSumTiles * kBlock + kOffset;
  static constexpr std::int64_t kFilterOffset = kBlock * kBlock + kOffset;

  std::int64_t batch, in_h, in_w, in_c, out_h, out_w, out_c, pad_top, pad_left, window;

  std::int64_t step() const { return kTile + 1 - window; }  // outputs of a tile along an axis
  std::int64_t rows() const { return (out_h + step() - 1) / step(); }
  std::int64_t columns() const { return (out_w + step() - 1) / step(); }
  std::int64_t tiles() const { return batch * rows() * columns(); }
  std::int64_t filter_elements() const { return kProducts * in_c * out_c; }

  // Is the filter, as factors, too much for the caches, and all tiles few enough? Then it is they that wait for the
  // filter's blocks. Both ways give the same bits.
  bool filter_outweighs() const;
  std::int64_t image_offset() const { return tiles() * std::min(in_c, kBlock) + kOffset; }

  // Is it slid over with products made by a CPU's tiles of bfloat16? Where the machine has them, for whole panels of
  // channels, and when the filter's factors stay in a core's second cache.
  bool by_float_tiles() const;

  // Tiles computed at once by one thread, at most, so that inputs and products stay in its cache.
  std::int64_t slide_block() const;

  std::int64_t in_blocks() const { return (in_c + kBlock - 1) / kBlock; }
  std::int64_t out_blocks() const { return (out_c + kBlock - 1) / kBlock; }
  std::int64_t sum_offset() const { return std::min(in_c, kBlock) * std::min(out_c, kBlock) + kOffset; }
  std::int64_t sum_elements() const { return kProducts * sum_offset(); }
  // Parts of the tiles that are added up apart, where there are few blocks: something to do for more threads.
  std::int64_t sum_shards() const;
  // Of chunks of a batch: all at once, beside each other? They may weigh no more than twice the images; else they are
  // summed in turn, block by block. Both ways give the same bits.
  bool all_chunks_fit(std::int64_t parts) const;
  static constexpr std::int64_t kTreeLevels = 4;  // log2(kReductionChunks) + 1
  std::int64_t block_filter() const { return window * window * std::min(in_c, kBlock) * std::min(out_c, kBlock); }

  // `forward` slides over images; else over the output's gradient, with the filter turned round: the image's gradient.
  static WinogradTiles of(const ConvGeometry& g, bool forward);
};

// Where factors and sums lie when float tiles multiply them. Distances between products are odd multiples of a line.
struct WinogradFloatTiles {
  // So many factors of each product are made before they are cut in parts, in a core's first cache.
  static constexpr std::int64_t kFew = 256, kFewOffset = kFew + WinogradTiles::kOffset;
  static constexpr std::int64_t kFilterOffset = float_tiles::kDepth * float_tiles::kPanel + WinogradTiles::kOffset;

  explicit WinogradFloatTiles(const WinogradTiles& w) : in_c(w.in_c), out_c(w.out_c) {}
  // Sliding: the filter packed, a panel of tiles as rows, its sums, and all that a thread needs.
  std::int64_t filter_bytes() const { return kProducts * units() * panels() * float_tiles::kUnitBytes; }
  std::int64_t row_stride() const { return units() * float_tiles::kUnitBytes + float_tiles::kLineBytes; }
  std::int64_t sum_stride() const { return panels() * float_tiles::kSumBytes + float_tiles::kLineBytes; }
  std::int64_t slide_bytes() const {
    return kProducts * (row_stride() + sum_stride() + kFewOffset * static_cast<std::int64_t>(sizeof(float)));
  }
  std::size_t scratch_bytes(int threads) const {
    const std::int64_t filters = units() * panels() * kProducts * kFilterOffset;
    return static_cast<std::size_t>(
        filter_bytes() + std::max(threads * slide_bytes(), filters * static_cast<std::int64_t>(sizeof(float))));
  }
  // Of a panel's sums of a product, and of panels of channels beside each other.
  static std::int64_t sum_at(std::int64_t tile, std::int64_t channel) {
    constexpr std::int64_t kPanel = float_tiles::kPanel;
    return channel / kPanel * kPanel * kPanel + float_tiles::sum_at(tile, channel % kPanel);
  }

 private:
  static constexpr std::int64_t kProducts = WinogradTiles::kProducts;
  std::int64_t units() const { return in_c / float_tiles::kDepth; }
  std::int64_t panels() const { return out_c / float_tiles::kPanel; }
  std::int64_t in_c, out_c;
};

}  // namespace argosy
