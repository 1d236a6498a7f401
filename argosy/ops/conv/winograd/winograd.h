// Winograd's convolution: which convolutions are computed that way, and in which blocks. A tile of 6x6 inputs takes 36
// products per pair of channels. It gives 4x4 outputs of a 3x3 window (direct convolution takes 144 products) or 2x2 of
// a 5x5 one (100). F(4x4, 3x3) and F(2x2, 5x5): Lavin and Gray, arXiv 1509.09308, with the points 0, 1, -1, 2, -2 and
// infinity. The cost of the transforms is that of reading images and filter, so with few tiles or few channels it is
// slower.
//
// Rounding, compared with double: the root mean square error is 0.4-2.2e-6 of the result's for 3x3 windows and up to
// 4.5e-6 for 5x5 ones. That of direct convolution is 0.1-1.3e-6. The test of the pass states the bounds.
//
// An output whose window sees only zeros is exactly zero, as in direct convolution: a ReLU after it has the same
// gradient.
//
// A NaN or an infinity in an image makes all outputs of the tiles that read it NaN or infinite. In direct convolution
// it affects the outputs whose windows read it. Other tiles and other images keep their bits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/matmul/float_tiles.h"

namespace argosy {

// On a node: compute it this way. Set by the pass `winograd`.
inline constexpr const char* kWinogradAttr = "_winograd";

// True if it is faster for this convolution and both its gradients. The rule uses shapes only, so that equal shards
// compute equal bits anywhere. Its bounds were measured on two cores of a Xeon with AVX-512.
bool winograd_pays(const ConvAttrs& attrs, const ConvGeometry& g);

// Bytes of scratch memory for `threads` threads: the most that the forward product or a gradient needs.
std::size_t winograd_scratch_bytes(const ConvGeometry& g, int threads);
// Bytes of scratch memory of the filter's gradient, summed in `parts` chunks of the batch
// (argosy/ops/collective/reduction_chunks.h).
std::size_t winograd_chunks_bytes(const ConvGeometry& g, int parts, int threads);

// The image that the window slides over, in tiles of kTile x kTile that overlap by window - 1. The 36 elements of a
// transformed tile, and of the transformed filter, are called factors; a "product" is the matrix product of the factors
// at one of the 36 positions.
struct WinogradTiles {
  static constexpr std::int64_t kTile = 6, kProducts = kTile * kTile;
  // The memory of two products is an odd multiple of a vector apart: a power of two would put all 36 into the same
  // cache lines.
  static constexpr std::int64_t kOffset = 16;
  // The filter's gradient is summed in blocks of kBlock input and output channels, over kSumTiles tiles at once: sums
  // and factors then stay in a core's cache.
  static constexpr std::int64_t kBlock = 64, kSumTiles = 36;
  static constexpr std::int64_t kFactorOffset = kSumTiles * kBlock + kOffset;
  static constexpr std::int64_t kFilterOffset = kBlock * kBlock + kOffset;

  std::int64_t batch, in_h, in_w, in_c, out_h, out_w, out_c, pad_top, pad_left, window;

  std::int64_t step() const { return kTile + 1 - window; }  // outputs of a tile along an axis
  std::int64_t rows() const { return (out_h + step() - 1) / step(); }
  std::int64_t columns() const { return (out_w + step() - 1) / step(); }
  std::int64_t tiles() const { return batch * rows() * columns(); }
  std::int64_t filter_elements() const { return kProducts * in_c * out_c; }

  // True if the filter's factors do not fit the caches and there are few tiles. Then the factors of all tiles are kept,
  // and those of the filter are computed block by block; otherwise the reverse. Both ways give the same bits.
  bool filter_outweighs() const;
  std::int64_t image_offset() const { return tiles() * std::min(in_c, kBlock) + kOffset; }

  // True if the products are computed by the CPU's bfloat16 tiles (AMX). That needs a machine that has them, channels
  // in full panels, and filter factors that fit a core's second-level cache.
  bool by_float_tiles() const;

  // The most tiles that a thread computes at once, so that inputs and products stay in its cache.
  std::int64_t slide_block() const;

  std::int64_t in_blocks() const { return (in_c + kBlock - 1) / kBlock; }
  std::int64_t out_blocks() const { return (out_c + kBlock - 1) / kBlock; }
  std::int64_t sum_offset() const { return std::min(in_c, kBlock) * std::min(out_c, kBlock) + kOffset; }
  std::int64_t sum_elements() const { return kProducts * sum_offset(); }
  // The number of parts of the tiles that are summed separately: more than one if there are few blocks, to keep more
  // threads busy.
  std::int64_t sum_shards() const;
  // True if the sums of all chunks of the batch are kept in memory at once: they are at most twice as large as the
  // images. Otherwise chunks are summed one after another, block by block. Both ways give the same bits.
  bool all_chunks_fit(std::int64_t parts) const;
  static constexpr std::int64_t kTreeLevels = 4;  // log2(kReductionChunks) + 1
  std::int64_t block_filter() const { return window * window * std::min(in_c, kBlock) * std::min(out_c, kBlock); }

  // `forward`: the window slides over images. Otherwise over the output's gradient, with the filter reversed: the
  // image's gradient.
  static WinogradTiles of(const ConvGeometry& g, bool forward);
};

// The layout of factors and sums for the CPU's bfloat16 tiles. The memory of two products is an odd multiple of a cache
// line apart.
struct WinogradFloatTiles {
  // kFew factors of each product are computed in a core's first-level cache before they are split into parts.
  static constexpr std::int64_t kFew = 256, kFewOffset = kFew + WinogradTiles::kOffset;
  static constexpr std::int64_t kFilterOffset = float_tiles::kDepth * float_tiles::kPanel + WinogradTiles::kOffset;

  explicit WinogradFloatTiles(const WinogradTiles& w) : in_c(w.in_c), out_c(w.out_c) {}
  // Sliding: the packed filter, a panel of tiles as rows, its sums, and all memory of one thread.
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
  // Returns the offset of a sum: panels of channels follow each other within a product.
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
