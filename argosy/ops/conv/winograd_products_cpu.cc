#include "argosy/ops/conv/winograd_products.h"

#include <algorithm>
#include <atomic>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/conv/winograd_products_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/parallel.h"
#include "argosy/ops/collective/batch_parts.h"
#include "argosy/ops/conv/winograd_factors.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

// Vectors of outputs that stay in registers, times six rows: targets with 32 registers hold four, others two.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

std::int64_t panel_width() { return kVectors * lanes(); }

// ----------------------------------------------------------------------------------------------------------- products

struct Operands {
  std::int64_t depth;
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

// kRows x n vectors of c = A · B, or added to c, in registers.
template <int kRows, int n, bool add>
HWY_INLINE void product_block(const Operands& p, std::int64_t row, std::int64_t column) {
  const Floats d;
  const std::int64_t step = lanes();
  float* const c = p.c + row * p.c_row + column;
  Vector sums[kRows][n];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < n; ++v) sums[r][v] = add ? hn::LoadU(d, c + r * p.c_row + v * step) : hn::Zero(d);
  }
  const float *a = p.a + row * p.a_row, *b = p.b + column;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_column, b += p.b_row) {
    Vector line[n];
    for (int v = 0; v < n; ++v) line[v] = hn::LoadU(d, b + v * step);
    for (int r = 0; r < kRows; ++r) {
      const Vector x = hn::Set(d, a[r * p.a_row]);
      for (int v = 0; v < n; ++v) sums[r][v] = hn::MulAdd(x, line[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < n; ++v) hn::StoreU(sums[r][v], d, c + r * p.c_row + v * step);
  }
}

template <int n, bool add>
void product_column(const Operands& p, std::int64_t rows, std::int64_t column) {
  std::int64_t i = 0;
  if constexpr (n < kVectors) {
    for (; i + 12 <= rows; i += 12) product_block<12, n, add>(p, i, column);
  }
  for (; i + 6 <= rows; i += 6) product_block<6, n, add>(p, i, column);
  for (; i + 2 <= rows; i += 2) product_block<2, n, add>(p, i, column);
  for (; i < rows; ++i) product_block<1, n, add>(p, i, column);
}

// Rows of c, `columns` of them a multiple of a vector.
template <bool add>
void product(const Operands& p, std::int64_t rows, std::int64_t columns) {
  std::int64_t j = 0;
  for (; j + panel_width() <= columns; j += panel_width()) product_column<kVectors, add>(p, rows, j);
  for (; j + 2 * lanes() <= columns; j += 2 * lanes()) product_column<2, add>(p, rows, j);
  for (; j < columns; j += lanes()) product_column<1, add>(p, rows, j);
}

// ------------------------------------------------------------------------------------------------------------ results

struct Finish {
  const float* bias;  // may be null
  const FusedOps* fused;
  float* result;
};

HWY_INLINE Vector activated(const FusedOps& fused, Vector x) {
  const Floats d;
  if (fused.activation == FusedOps::Activation::kNone) return x;
  if (fused.activation == FusedOps::Activation::kRelu) return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  HWY_ALIGN float values[16];
  hn::Store(x, d, values);
  for (std::int64_t i = 0; i < lanes(); ++i) values[i] = apply_activation(fused, values[i]);
  return hn::Load(d, values);
}

// Output channels [first, first + count) of tiles [begin, end), from sums[product * offset + tile * count + channel].
template <int kStep>
void outputs(const WinogradTiles& w, const Finish& finish, std::int64_t begin, std::int64_t end, std::int64_t first,
             std::int64_t count, const float* sums, std::int64_t offset) {
  const Floats d;
  for (std::int64_t tile = begin; tile < end; ++tile, sums += count) {
    const Place at = place_of(w, tile);
    float* const corner = finish.result + ((at.image * w.out_h + at.y) * w.out_w + at.x) * w.out_c + first;
    const std::int64_t height = w.out_h - at.y, width = w.out_w - at.x;
    for (std::int64_t c = 0; c < count; c += lanes()) {
      const Vector bias = finish.bias != nullptr ? hn::LoadU(d, finish.bias + first + c) : hn::Zero(d);
      transform_square<OfProducts<kStep>, kTile, kStep>(
          [&](int y, int x) { return hn::LoadU(d, sums + (y * kTile + x) * offset + c); },
          [&](int y, int x, Vector value) {
            if (y >= height || x >= width) return;
            hn::StoreU(activated(*finish.fused, hn::Add(value, bias)), d, corner + (y * w.out_w + x) * w.out_c + c);
          });
    }
  }
}

// ------------------------------------------------------------------------------------------------- the whole products

// Tiles in blocks small enough for a core's cache: transformed, multiplied panel by panel, transformed back.
template <int kWindow>
void slide(const WinogradTiles& w, const float* image, const float* filter, bool turned, const Finish& finish,
           float* scratch) {
  float* const u = scratch;
  parallel_for(w.in_c, 8, [&](std::int64_t begin, std::int64_t end) {
    filter_factors<kWindow>(w, filter, turned, panel_width(), begin, end, u);
  });

  const std::int64_t most = w.slide_block(), width = panel_width();
  const std::int64_t image_offset = most * w.in_c + WinogradTiles::kOffset;
  const std::int64_t sum_offset = most * std::min(w.out_c, width) + WinogradTiles::kOffset;
  std::atomic<std::int64_t> threads{0};
  parallel_for(w.tiles(), 12, [&](std::int64_t first, std::int64_t last) {
    const std::vector<float> zeros(static_cast<std::size_t>(w.in_c));
    float* const v = u + w.filter_elements() + threads.fetch_add(1) * kProducts * (image_offset + sum_offset);
    float* const sums = v + kProducts * image_offset;
    const std::int64_t blocks = (last - first + most - 1) / most, block = (last - first + blocks - 1) / blocks;
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t end = std::min(last, begin + block);
      image_factors<kTile + 1 - kWindow>(w, image, zeros.data(), {begin, end, 0, w.in_c}, v, image_offset);
      for (std::int64_t o = 0; o < w.out_c; o += width) {
        const std::int64_t columns = std::min(width, w.out_c - o);
        for (std::int64_t p = 0; p < kProducts; ++p) {
          const float* const panel = u + p * w.in_c * w.out_c + o * w.in_c;
          product<false>({w.in_c, v + p * image_offset, w.in_c, 1, panel, columns, sums + p * sum_offset, columns},
                         end - begin, columns);
        }
        outputs<kTile + 1 - kWindow>(w, finish, begin, end, o, columns, sums, sum_offset);
      }
    }
  });
}

void slide_any(const WinogradTiles& w, const float* image, const float* filter, bool turned, const float* bias,
               const FusedOps& fused, float* result, float* scratch) {
  const Finish finish{bias, &fused, result};
  return w.window == 3 ? slide<3>(w, image, filter, turned, finish, scratch)
                       : slide<5>(w, image, filter, turned, finish, scratch);
}

// Work falls into blocks of channels and shards of tiles, whatever the number of threads: so do the additions. Parts of
// the batch are shards whose filters are added as a tree.
template <int kWindow>
void sum_products(const WinogradTiles& w, const float* image, const float* dy, std::span<const std::int64_t> ends,
                  float* result, float* scratch) {
  using Blocks = WinogradTiles;
  const Floats d;
  const std::int64_t tiles = w.tiles();
  const auto parts = static_cast<std::int64_t>(ends.size()), shards = parts > 0 ? parts : w.sum_shards();
  const auto shard_end = [&](std::int64_t shard) {
    return parts > 0 ? ends[shard] * w.rows() * w.columns() : tiles * (shard + 1) / shards;
  };
  const std::int64_t sum_offset = w.sum_offset(), sum_elements = w.sum_elements();
  const std::int64_t across = w.out_blocks(), blocks = w.in_blocks() * across;
  const auto block_sums = [&](std::int64_t block, std::int64_t shard) {
    return scratch + (block * shards + shard) * sum_elements;
  };
  float* const factors = block_sums(blocks, 0);
  std::atomic<std::int64_t> threads{0};
  parallel_for(blocks * shards, 1, [&](std::int64_t first_unit, std::int64_t last_unit) {
    const std::vector<float> zeros(static_cast<std::size_t>(std::max(w.in_c, w.out_c)));
    float* const v = factors + threads.fetch_add(1) * 2 * kProducts * Blocks::kFactorOffset;
    float* const y = v + kProducts * Blocks::kFactorOffset;
    for (std::int64_t unit = first_unit; unit < last_unit; ++unit) {
      const std::int64_t block = unit / shards, shard = unit % shards;
      const std::int64_t c = block / across * Blocks::kBlock, k = block % across * Blocks::kBlock;
      const std::int64_t rows = std::min(Blocks::kBlock, w.in_c - c), columns = std::min(Blocks::kBlock, w.out_c - k);
      const std::int64_t first = shard > 0 ? shard_end(shard - 1) : 0, last = shard_end(shard);
      if (first == last) std::fill_n(block_sums(block, shard), sum_elements, 0.0f);
      for (std::int64_t begin = first; begin < last; begin += Blocks::kSumTiles) {
        const std::int64_t end = std::min(last, begin + Blocks::kSumTiles);
        image_factors<kTile + 1 - kWindow>(w, image, zeros.data(), {begin, end, c, rows}, v, Blocks::kFactorOffset);
        gradient_factors<kTile + 1 - kWindow>(w, dy, zeros.data(), {begin, end, k, columns}, y, Blocks::kFactorOffset);
        for (std::int64_t p = 0; p < kProducts; ++p) {
          const Operands operands{end - begin,
                                  v + p * Blocks::kFactorOffset,
                                  1,
                                  rows,
                                  y + p * Blocks::kFactorOffset,
                                  columns,
                                  block_sums(block, shard) + p * sum_offset,
                                  columns};
          begin == first ? product<false>(operands, rows, columns) : product<true>(operands, rows, columns);
        }
      }
    }
  });
  const std::int64_t matrix = w.in_c * w.out_c, one = parts > 0 ? 1 : shards;
  parallel_for(w.in_c, 8, [&](std::int64_t begin, std::int64_t end) {
    HWY_ALIGN float filters[kBatchParts * kWindow * kWindow * HWY_MAX_BYTES / sizeof(float)];
    for (std::int64_t c = begin; c < end; ++c) {
      for (std::int64_t k = 0; k < w.out_c; k += lanes()) {
        const std::int64_t block = c / Blocks::kBlock * across + k / Blocks::kBlock;
        const std::int64_t columns = std::min(Blocks::kBlock, w.out_c - k / Blocks::kBlock * Blocks::kBlock);
        const float* sums = block_sums(block, 0) + c % Blocks::kBlock * columns + k % Blocks::kBlock;
        for (std::int64_t part = 0; part < std::max<std::int64_t>(parts, 1); ++part, sums += sum_elements) {
          float* const filter = filters + part * kWindow * kWindow * lanes();
          transform_square<OfProducts<kWindow>, kTile, kWindow>(
              [&](int y, int x) {
                const float* const at = sums + (y * kTile + x) * sum_offset;
                Vector sum = hn::LoadU(d, at);
                for (std::int64_t s = 1; s < one; ++s) sum = hn::Add(sum, hn::LoadU(d, at + s * sum_elements));
                return sum;
              },
              [&](int y, int x, Vector value) { hn::Store(value, d, filter + (y * kWindow + x) * lanes()); });
        }
        add_as_tree(filters, static_cast<int>(parts), kWindow * kWindow * lanes());
        for (int at = 0; at < kWindow * kWindow; ++at) {
          hn::StoreU(hn::Load(d, filters + at * lanes()), d, result + at * matrix + c * w.out_c + k);
        }
      }
    }
  });
}

void sum_any(const WinogradTiles& w, const float* image, const float* dy, std::span<const std::int64_t> ends,
             float* result, float* scratch) {
  return w.window == 3 ? sum_products<3>(w, image, dy, ends, result, scratch)
                       : sum_products<5>(w, image, dy, ends, result, scratch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(slide_any);
HWY_EXPORT(sum_any);

void winograd_forward(const ConvGeometry& g, const float* image, const float* filter, const float* bias,
                      const FusedOps& fused, float* result, float* scratch) {
  HWY_DYNAMIC_DISPATCH(slide_any)(WinogradTiles::of(g, true), image, filter, false, bias, fused, result, scratch);
}

void winograd_backward_input(const ConvGeometry& g, const float* dy, const float* filter, float* result,
                             float* scratch) {
  HWY_DYNAMIC_DISPATCH(slide_any)(WinogradTiles::of(g, false), dy, filter, true, nullptr, {}, result, scratch);
}

void winograd_backward_filter(const ConvGeometry& g, const float* image, const float* dy,
                              std::span<const std::int64_t> ends, float* result, float* scratch) {
  HWY_DYNAMIC_DISPATCH(sum_any)(WinogradTiles::of(g, true), image, dy, ends, result, scratch);
}

}  // namespace argosy
#endif
