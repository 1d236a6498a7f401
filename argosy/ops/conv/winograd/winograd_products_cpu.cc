#include "argosy/ops/conv/winograd/winograd_products.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/conv/winograd/winograd_products_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/conv/winograd/winograd_factors.inc"
#include "argosy/ops/conv/winograd/winograd_float_tiles.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

// Vectors of outputs in registers, for each of six rows: targets with 32 registers hold four, others two.
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

// Computes kRows x n vectors of c = A · B, or adds them to c, in registers.
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

// ------------------------------------------------------------------------------------------------- the whole products

// Processes tiles in blocks that fit a core's cache: transforms them, multiplies them panel by panel, and transforms
// the result back.
template <int kWindow>
void slide_blocks_of_tiles(const WinogradTiles& w, const float* image, const float* filter, bool turned,
                           const Finish& finish, float* scratch) {
  float* const u = scratch;
  const std::int64_t width = panel_width();
  parallel_for(w.in_c, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = 0; o < w.out_c; o += width) {
      const std::int64_t columns = std::min(width, w.out_c - o);
      filter_factors<kWindow>(w, filter, turned, {begin, end, o, columns}, u + o * w.in_c + begin * columns,
                              w.in_c * w.out_c);
    }
  });

  const std::int64_t most = w.slide_block();
  const std::int64_t image_offset = most * w.in_c + WinogradTiles::kOffset;
  const std::int64_t sum_offset = most * std::min(w.out_c, width) + WinogradTiles::kOffset;
  // A free thread takes the next block, so a core that other work slows down takes fewer.
  const std::int64_t tiles = w.tiles(), takers = std::clamp<std::int64_t>(tiles / 12, 1, thread_budget());
  const std::int64_t blocks = std::max((tiles + most - 1) / most, takers), block = (tiles + blocks - 1) / blocks;
  std::atomic<std::int64_t> threads{0}, taken{0};
  parallel_for_whole(takers, 1, [&](std::int64_t, std::int64_t) {
    const std::vector<float> zeros(static_cast<std::size_t>(w.in_c));
    float* const v = u + w.filter_elements() + threads.fetch_add(1) * kProducts * (image_offset + sum_offset);
    float* const sums = v + kProducts * image_offset;
    for (std::int64_t begin = 0; (begin = taken.fetch_add(1) * block) < tiles;) {
      check_interrupted();
      const std::int64_t end = std::min(tiles, begin + block);
      image_factors<kTile + 1 - kWindow>(w, image, zeros.data(), {begin, end, 0, w.in_c}, v, image_offset);
      for (std::int64_t o = 0; o < w.out_c; o += width) {
        const std::int64_t columns = std::min(width, w.out_c - o);
        for (std::int64_t p = 0; p < kProducts; ++p) {
          const float* const panel = u + p * w.in_c * w.out_c + o * w.in_c;
          product<false>({w.in_c, v + p * image_offset, w.in_c, 1, panel, columns, sums + p * sum_offset, columns},
                         end - begin, columns);
        }
        outputs<kTile + 1 - kWindow>(w, finish, begin, end, o, columns, sums, sum_offset,
                                     [&](std::int64_t tile, std::int64_t c) { return tile * columns + c; });
      }
    }
  });
}

// Transforms all tiles first. The filter comes in blocks that fit a core's cache, each transformed just before it is
// multiplied. The additions and their order are the same.
template <int kWindow>
void slide_blocks_of_filter(const WinogradTiles& w, const float* image, const float* filter, bool turned,
                            const Finish& finish, float* scratch) {
  constexpr std::int64_t kBlock = WinogradTiles::kBlock;
  const std::int64_t tiles = w.tiles(), blocks = w.in_blocks(), width = panel_width();
  const auto inputs = [&](std::int64_t block) { return std::min(kBlock, w.in_c - block * kBlock); };
  const std::int64_t image_offset = w.image_offset(), filter_offset = WinogradTiles::kFilterOffset;
  const std::int64_t sum_offset = tiles * width + WinogradTiles::kOffset;
  const auto images = [&](std::int64_t block) { return scratch + block * kProducts * image_offset; };
  parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
    const std::vector<float> zeros(static_cast<std::size_t>(w.in_c));
    for (std::int64_t b = first; b < last; ++b) {
      image_factors<kTile + 1 - kWindow>(w, image, zeros.data(), {0, tiles, b * kBlock, inputs(b)}, images(b),
                                         image_offset);
    }
  });
  // If there are more threads than panels, several share a panel: each transforms its filter, for a part of the tiles.
  constexpr std::int64_t kShare = 16;
  const std::int64_t panels = (w.out_c + width - 1) / width;
  const std::int64_t groups =
      std::clamp<std::int64_t>(thread_budget() / panels, 1, std::max<std::int64_t>(tiles / kShare, 1));
  std::atomic<std::int64_t> threads{0};
  parallel_for_whole(panels * groups, 1, [&](std::int64_t first, std::int64_t last) {
    float* const u = images(blocks) + threads.fetch_add(1) * kProducts * (filter_offset + sum_offset);
    float* const sums = u + kProducts * filter_offset;
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t o = unit / groups * width, columns = std::min(width, w.out_c - o);
      const std::int64_t first_tile = tiles * (unit % groups) / groups,
                         last_tile = tiles * (unit % groups + 1) / groups;
      for (std::int64_t b = 0; b < blocks; ++b) {
        check_interrupted();
        const std::int64_t rows = inputs(b), begin = b * kBlock;
        filter_factors<kWindow>(w, filter, turned, {begin, begin + rows, o, columns}, u, filter_offset);
        for (std::int64_t p = 0; p < kProducts; ++p) {
          const Operands operands{rows,
                                  images(b) + p * image_offset + first_tile * rows,
                                  rows,
                                  1,
                                  u + p * filter_offset,
                                  columns,
                                  sums + p * sum_offset,
                                  columns};
          const std::int64_t count = last_tile - first_tile;
          b == 0 ? product<false>(operands, count, columns) : product<true>(operands, count, columns);
        }
      }
      outputs<kTile + 1 - kWindow>(w, finish, first_tile, last_tile, o, columns, sums, sum_offset,
                                   [&](std::int64_t tile, std::int64_t c) { return tile * columns + c; });
    }
  });
}

template <int kWindow>
void slide(const WinogradTiles& w, const float* image, const float* filter, bool turned, const Finish& finish,
           float* scratch) {
  if (w.by_float_tiles()) return slide_by_float_tiles<kWindow>(w, image, filter, turned, finish, scratch);
  w.filter_outweighs() ? slide_blocks_of_filter<kWindow>(w, image, filter, turned, finish, scratch)
                       : slide_blocks_of_tiles<kWindow>(w, image, filter, turned, finish, scratch);
}

void slide_any(const WinogradTiles& w, const float* image, const float* filter, bool turned, const float* bias,
               const FusedOps& fused, float* result, float* scratch) {
  const Finish finish{image, bias, &fused, result};
  return w.window == 3 ? slide<3>(w, image, filter, turned, finish, scratch)
                       : slide<5>(w, image, filter, turned, finish, scratch);
}

// The memory of the filter of a block of channels: a matrix for each position in the window, row by row.
struct FilterBlock {
  float* at;
  std::int64_t matrix, row;
};

// Computes the filter's gradient in one block of channels, from sums of products: shard after shard, `sum_elements`
// apart.
template <int kWindow>
void filters_of_sums(const WinogradTiles& w, const Part& part, const float* sums, std::int64_t shards, bool parts,
                     const FilterBlock& result) {
  const Floats d;
  const std::int64_t sum_offset = w.sum_offset(), sum_elements = w.sum_elements();
  const std::int64_t filters = parts ? shards : 1, added = parts ? 1 : shards;
  HWY_ALIGN float filter[kReductionChunks * kWindow * kWindow * HWY_MAX_BYTES / sizeof(float)];
  for (std::int64_t c = part.begin; c < part.end; ++c) {
    for (std::int64_t k = 0; k < part.channels; k += lanes()) {
      const float* from = sums + (c - part.begin) * part.channels + k;
      for (std::int64_t f = 0; f < filters; ++f, from += sum_elements) {
        float* const to = filter + f * kWindow * kWindow * lanes();
        transform_square<OfProducts<kWindow>, kTile, kWindow>(
            [&](int y, int x) {
              const float* const at = from + (y * kTile + x) * sum_offset;
              Vector sum = hn::LoadU(d, at);
              for (std::int64_t s = 1; s < added; ++s) sum = hn::Add(sum, hn::LoadU(d, at + s * sum_elements));
              return sum;
            },
            [&](int y, int x, Vector value) { hn::Store(value, d, to + (y * kWindow + x) * lanes()); });
      }
      if (parts) add_chunks_as_tree(filter, static_cast<int>(filters), kWindow * kWindow * lanes());
      for (int at = 0; at < kWindow * kWindow; ++at) {
        hn::StoreU(hn::Load(d, filter + at * lanes()), d,
                   result.at + at * result.matrix + (c - part.begin) * result.row + k);
      }
    }
  }
}

// Adds the filters of the batch's chunks, which come one after another, in the order of add_chunks_as_tree(). One
// filter is kept at each level until its neighbour comes.
class FilterTree {
 public:
  // `memory`: WinogradTiles::kTreeLevels blocks of `elements`.
  FilterTree(float* memory, std::int64_t elements) : memory_(memory), elements_(elements) {}

  // Returns the memory for the next chunk's filter.
  float* next() const { return level(std::countr_one(static_cast<unsigned>(parts_))); }
  // Adds the filter in next().
  void add() {
    const int levels = std::countr_one(static_cast<unsigned>(parts_++));
    float* const fresh = level(levels);
    for (int l = 0; l < levels; ++l) {
      const float* const before = level(l);
      for (std::int64_t i = 0; i < elements_; ++i) fresh[i] = before[i] + fresh[i];
    }
  }
  // Returns the sum. REQUIRES: the number of chunks is a power of two.
  const float* sum() const { return level(std::countr_zero(static_cast<unsigned>(parts_))); }

 private:
  float* level(int l) const { return memory_ + l * elements_; }

  float* memory_;
  std::int64_t elements_;
  int parts_ = 0;
};

// Work is split into blocks of channels and shards of tiles, which do not depend on the number of threads; nor do the
// additions. The chunks of a batch are shards whose filters are added as a tree. A block's sums become filters once all
// its shards are done: at once if there is one, or one after another.
template <int kWindow>
void sum_products(const WinogradTiles& w, const float* image, const float* dy, std::span<const std::int64_t> ends,
                  float* result, float* scratch) {
  using Blocks = WinogradTiles;
  const std::int64_t tiles = w.tiles();
  const auto parts = static_cast<std::int64_t>(ends.size()), shards = parts > 0 ? parts : w.sum_shards();
  const bool in_turn = parts > 0 && !w.all_chunks_fit(parts);
  const auto shard_end = [&](std::int64_t shard) {
    return parts > 0 ? ends[shard] * w.rows() * w.columns() : tiles * (shard + 1) / shards;
  };
  const std::int64_t sum_offset = w.sum_offset(), sum_elements = w.sum_elements();
  const std::int64_t across = w.out_blocks(), blocks = w.in_blocks() * across;
  const std::int64_t kept = shards > 1 && !in_turn ? blocks * shards : 0;
  // The input and output channels of a block.
  const auto part_of = [&](std::int64_t block) {
    const std::int64_t c = block / across * Blocks::kBlock, k = block % across * Blocks::kBlock;
    return Part{c, std::min(c + Blocks::kBlock, w.in_c), k, std::min(Blocks::kBlock, w.out_c - k)};
  };
  const auto place_of = [&](const Part& part) {
    return FilterBlock{result + part.begin * w.out_c + part.first, w.in_c * w.out_c, w.out_c};
  };
  const std::int64_t of_thread = 2 * kProducts * Blocks::kFactorOffset + (kept > 0 ? 0 : sum_elements) +
                                 (in_turn ? Blocks::kTreeLevels * w.block_filter() : 0);
  // The units of a block are consecutive. With `in_turn`, one thread computes them all; else a free thread takes the
  // next unit.
  const std::int64_t together = in_turn ? shards : 1, units = blocks * shards;
  std::atomic<std::int64_t> threads{0}, taken{0};
  parallel_for_whole(std::min<std::int64_t>(units / together, thread_budget()), 1, [&](std::int64_t, std::int64_t) {
    const std::vector<float> zeros(static_cast<std::size_t>(std::max(w.in_c, w.out_c)));
    float* const v = scratch + kept * sum_elements + threads.fetch_add(1) * of_thread;
    float* const y = v + kProducts * Blocks::kFactorOffset;
    float* const own = y + kProducts * Blocks::kFactorOffset;
    const auto add_products = [&](const Part& part, std::int64_t shard, float* sums) {
      const std::int64_t rows = part.end - part.begin, columns = part.channels;
      const std::int64_t first = shard > 0 ? shard_end(shard - 1) : 0, last = shard_end(shard);
      if (first == last) std::fill_n(sums, sum_elements, 0.0f);
      for (std::int64_t begin = first; begin < last; begin += Blocks::kSumTiles) {
        const std::int64_t end = std::min(last, begin + Blocks::kSumTiles);
        image_factors<kTile + 1 - kWindow>(w, image, zeros.data(), {begin, end, part.begin, rows}, v,
                                           Blocks::kFactorOffset);
        gradient_factors<kTile + 1 - kWindow>(w, dy, zeros.data(), {begin, end, part.first, columns}, y,
                                              Blocks::kFactorOffset);
        for (std::int64_t p = 0; p < kProducts; ++p) {
          const Operands operands{
              end - begin, v + p * Blocks::kFactorOffset, 1,      rows, y + p * Blocks::kFactorOffset,
              columns,     sums + p * sum_offset,         columns};
          begin == first ? product<false>(operands, rows, columns) : product<true>(operands, rows, columns);
        }
      }
    };
    for (std::int64_t unit = 0; (unit = taken.fetch_add(1) * together) < units;) {
      check_interrupted();
      const Part part = part_of(unit / shards);
      if (!in_turn) {
        float* const sums = kept > 0 ? scratch + unit * sum_elements : own;
        add_products(part, unit % shards, sums);
        if (kept == 0) filters_of_sums<kWindow>(w, part, sums, 1, false, place_of(part));
        continue;
      }
      const std::int64_t rows = part.end - part.begin, columns = part.channels;
      FilterTree tree(own + sum_elements, w.block_filter());
      for (std::int64_t shard = 0; shard < shards; ++shard) {
        add_products(part, shard, own);
        filters_of_sums<kWindow>(w, part, own, 1, false, {tree.next(), rows * columns, columns});
        tree.add();
      }
      const FilterBlock to = place_of(part);
      for (std::int64_t at = 0; at < kWindow * kWindow; ++at) {
        for (std::int64_t c = 0; c < rows; ++c) {
          std::copy_n(tree.sum() + (at * rows + c) * columns, columns, to.at + at * to.matrix + c * to.row);
        }
      }
    }
  });
  if (kept == 0) return;
  constexpr std::int64_t kInputs = 8;  // of a block, at once: a block is a lot for one thread
  const std::int64_t slices = (Blocks::kBlock + kInputs - 1) / kInputs;
  parallel_for(blocks * slices, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      Part part = part_of(unit / slices);
      const std::int64_t skipped = unit % slices * kInputs;
      const float* const sums = scratch + unit / slices * shards * sum_elements + skipped * part.channels;
      part.end = std::min(part.end, part.begin + skipped + kInputs);
      part.begin += skipped;
      if (part.begin < part.end) filters_of_sums<kWindow>(w, part, sums, shards, parts > 0, place_of(part));
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
