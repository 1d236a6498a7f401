#include "argosy/ops/conv/winograd_products.h"

#include <algorithm>
#include <atomic>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/conv/winograd_products_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Channels come in multiples of 16.
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;
constexpr int kTile = WinogradTiles::kTile, kProducts = WinogradTiles::kProducts;

// Vectors of outputs that stay in registers, times six rows: targets with 32 registers hold four, others two.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }
std::int64_t panel_width() { return kVectors * lanes(); }

// -------------------------------------------------------------------------------------------- transforms of one line

HWY_INLINE Vector times(float factor, Vector x) { return hn::Mul(hn::Set(Floats(), factor), x); }
HWY_INLINE Vector plus(Vector sum, float factor, Vector x) { return hn::MulAdd(hn::Set(Floats(), factor), x, sum); }

// Six inputs.
struct OfInputs {
  static HWY_INLINE void transform(const Vector* d, Vector* t) {
    const Vector even = plus(d[4], -4, d[2]), odd = plus(d[3], -4, d[1]);
    const Vector far_even = hn::Sub(d[4], d[2]), far_odd = hn::Sub(d[3], d[1]);
    t[0] = hn::Add(plus(times(4, d[0]), -5, d[2]), d[4]);
    t[1] = hn::Add(even, odd);
    t[2] = hn::Sub(even, odd);
    t[3] = plus(far_even, 2, far_odd);
    t[4] = plus(far_even, -2, far_odd);
    t[5] = hn::Add(plus(times(4, d[1]), -5, d[3]), d[5]);
  }
};

// kTaps of a filter, 2 to 5: its polynomial's values at the points.
template <int kTaps>
struct OfTaps {
  static HWY_INLINE void transform(const Vector* g, Vector* t) {
    Vector even = g[0], far_even = g[0], odd = g[1], far_odd = hn::Add(g[1], g[1]);
    if constexpr (kTaps > 2) even = hn::Add(even, g[2]), far_even = plus(far_even, 4, g[2]);
    if constexpr (kTaps > 3) odd = hn::Add(odd, g[3]), far_odd = plus(far_odd, 8, g[3]);
    if constexpr (kTaps > 4) even = hn::Add(even, g[4]), far_even = plus(far_even, 16, g[4]);
    t[0] = times(1.0f / 4, g[0]);
    t[1] = times(-1.0f / 6, hn::Add(even, odd));
    t[2] = times(-1.0f / 6, hn::Sub(even, odd));
    t[3] = times(1.0f / 24, hn::Add(far_even, far_odd));
    t[4] = times(1.0f / 24, hn::Sub(far_even, far_odd));
    t[5] = g[kTaps - 1];
  }
};

// Six products to kOutputs sums, 2 to 5.
template <int kOutputs>
struct OfProducts {
  static HWY_INLINE void transform(const Vector* m, Vector* y) {
    const Vector even = hn::Add(m[1], m[2]), odd = hn::Sub(m[1], m[2]);
    const Vector far_even = hn::Add(m[3], m[4]), far_odd = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(even, far_even));
    y[1] = plus(odd, 2, far_odd);
    if constexpr (kOutputs > 2) y[2] = plus(even, 4, far_even);
    if constexpr (kOutputs > 3) y[3] = plus(odd, 8, far_odd);
    if constexpr (kOutputs > 4) y[4] = plus(even, 16, far_even);
    y[kOutputs - 1] = hn::Add(y[kOutputs - 1], m[5]);
  }
};

// kFrom x kFrom vectors to kTo x kTo: one line's transform down the columns, then along the rows.
template <class Line, int kFrom, int kTo, class Load, class Store>
HWY_INLINE void transform_square(const Load& load, const Store& store) {
  Vector between[kTo][kFrom];
  for (int x = 0; x < kFrom; ++x) {
    Vector column[kFrom], changed[kTo];
    for (int y = 0; y < kFrom; ++y) column[y] = load(y, x);
    Line::transform(column, changed);
    for (int y = 0; y < kTo; ++y) between[y][x] = changed[y];
  }
  for (int y = 0; y < kTo; ++y) {
    Vector changed[kTo];
    Line::transform(between[y], changed);
    for (int x = 0; x < kTo; ++x) store(y, x, changed[x]);
  }
}

// ------------------------------------------------------------------------------------------------- images and filters

struct Place {
  std::int64_t image, y, x;  // of the tile's first output
};
Place place_of(const WinogradTiles& w, std::int64_t tile) {
  const std::int64_t columns = w.columns(), rows = w.rows();
  return {tile / columns / rows, tile / columns % rows * w.step(), tile % columns * w.step()};
}

// kSide x kSide pixels of an image from (y, x) on; those outside point at `zeros`.
template <int kSide>
void pixels(const float* image, std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t y,
            std::int64_t x, const float* zeros, const float** to) {
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
      to[i * kSide + j] = inside ? image + ((y + i) * width + x + j) * channels : zeros;
    }
  }
}

// A range of tiles and one of channels.
struct Part {
  std::int64_t begin, end, first, channels;
};

// Tile after tile, its 6x6 pixels as factors: v[product * offset + tile * channels + channel].
void image_factors(const WinogradTiles& w, const float* image, const float* zeros, const Part& part,
                   float* HWY_RESTRICT v, std::int64_t offset) {
  const Floats d;
  for (std::int64_t tile = part.begin; tile < part.end; ++tile, v += part.channels) {
    const Place at = place_of(w, tile);
    const float* from[kProducts];
    pixels<kTile>(image + at.image * w.in_h * w.in_w * w.in_c, w.in_h, w.in_w, w.in_c, at.y - w.pad_top,
                  at.x - w.pad_left, zeros, from);
    for (std::int64_t c = 0; c < part.channels; c += lanes()) {
      transform_square<OfInputs, kTile, kTile>(
          [&](int y, int x) { return hn::LoadU(d, from[y * kTile + x] + part.first + c); },
          [&](int y, int x, Vector value) { hn::StoreU(value, d, v + (y * kTile + x) * offset + c); });
    }
  }
}

// The output's gradient, kStep x kStep of it to a tile, as factors: to[product * offset + tile * channels + channel].
template <int kStep>
void gradient_factors(const WinogradTiles& w, const float* dy, const float* zeros, const Part& part,
                      float* HWY_RESTRICT to, std::int64_t offset) {
  const Floats d;
  for (std::int64_t tile = part.begin; tile < part.end; ++tile, to += part.channels) {
    const Place at = place_of(w, tile);
    const float* from[kStep * kStep];
    pixels<kStep>(dy + at.image * w.out_h * w.out_w * w.out_c, w.out_h, w.out_w, w.out_c, at.y, at.x, zeros, from);
    for (std::int64_t c = 0; c < part.channels; c += lanes()) {
      transform_square<OfTaps<kStep>, kStep, kTile>(
          [&](int y, int x) { return hn::LoadU(d, from[y * kStep + x] + part.first + c); },
          [&](int y, int x, Vector value) { hn::StoreU(value, d, to + (y * kTile + x) * offset + c); });
    }
  }
}

// Input channels [begin, end) of the filter as factors, in panels of outputs: u[product][panel][input][output].
// `turned`: the filter lies [window, window, out, in] and is turned by half a turn.
template <int kWindow>
void filter_factors(const WinogradTiles& w, const float* filter, bool turned, std::int64_t begin, std::int64_t end,
                    float* HWY_RESTRICT u) {
  const Floats d;
  const std::int64_t width = panel_width(), matrix = w.in_c * w.out_c;
  const auto apart = hn::Mul(hn::Iota(hn::RebindToSigned<Floats>(), 0),
                             hn::Set(hn::RebindToSigned<Floats>(), static_cast<std::int32_t>(w.in_c)));
  for (std::int64_t o = 0; o < w.out_c; o += lanes()) {
    const std::int64_t panel = o / width * width, in_panel = std::min(width, w.out_c - panel);
    for (std::int64_t i = begin; i < end; ++i) {
      float* const to = u + panel * w.in_c + i * in_panel + (o - panel);
      transform_square<OfTaps<kWindow>, kWindow, kTile>(
          [&](int y, int x) {
            if (!turned) return hn::LoadU(d, filter + (y * kWindow + x) * matrix + i * w.out_c + o);
            const std::int64_t tap = (kWindow - 1 - y) * kWindow + kWindow - 1 - x;
            return hn::GatherIndex(d, filter + tap * matrix + o * w.in_c + i, apart);
          },
          [&](int y, int x, Vector value) { hn::StoreU(value, d, to + (y * kTile + x) * matrix); });
    }
  }
}

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
    filter_factors<kWindow>(w, filter, turned, begin, end, u);
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
      image_factors(w, image, zeros.data(), {begin, end, 0, w.in_c}, v, image_offset);
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

// Work falls into blocks of channels and shards of tiles, whatever the number of threads: so do the additions.
template <int kWindow>
void sum_products(const WinogradTiles& w, const float* image, const float* dy, float* result, float* scratch) {
  using Blocks = WinogradTiles;
  const Floats d;
  const std::int64_t shards = w.sum_shards(), tiles = w.tiles();
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
      const std::int64_t first = tiles * shard / shards, last = tiles * (shard + 1) / shards;
      for (std::int64_t begin = first; begin < last; begin += Blocks::kSumTiles) {
        const std::int64_t end = std::min(last, begin + Blocks::kSumTiles);
        image_factors(w, image, zeros.data(), {begin, end, c, rows}, v, Blocks::kFactorOffset);
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
  const std::int64_t matrix = w.in_c * w.out_c;
  parallel_for(w.in_c, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      for (std::int64_t k = 0; k < w.out_c; k += lanes()) {
        const std::int64_t block = c / Blocks::kBlock * across + k / Blocks::kBlock;
        const std::int64_t columns = std::min(Blocks::kBlock, w.out_c - k / Blocks::kBlock * Blocks::kBlock);
        const float* const sums = block_sums(block, 0) + c % Blocks::kBlock * columns + k % Blocks::kBlock;
        transform_square<OfProducts<kWindow>, kTile, kWindow>(
            [&](int y, int x) {
              const float* const at = sums + (y * kTile + x) * sum_offset;
              Vector sum = hn::LoadU(d, at);
              for (std::int64_t s = 1; s < shards; ++s) sum = hn::Add(sum, hn::LoadU(d, at + s * sum_elements));
              return sum;
            },
            [&](int y, int x, Vector value) {
              hn::StoreU(value, d, result + (y * kWindow + x) * matrix + c * w.out_c + k);
            });
      }
    }
  });
}

void sum_any(const WinogradTiles& w, const float* image, const float* dy, float* result, float* scratch) {
  return w.window == 3 ? sum_products<3>(w, image, dy, result, scratch)
                       : sum_products<5>(w, image, dy, result, scratch);
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

void winograd_backward_filter(const ConvGeometry& g, const float* image, const float* dy, float* result,
                              float* scratch) {
  HWY_DYNAMIC_DISPATCH(sum_any)(WinogradTiles::of(g, true), image, dy, result, scratch);
}

}  // namespace argosy
#endif
