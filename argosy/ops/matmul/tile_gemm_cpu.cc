#include "argosy/ops/matmul/tile_gemm.h"

#include <algorithm>
#include <atomic>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/matmul/float_tiles.h"

namespace argosy {

namespace {

using float_tiles::kDepth, float_tiles::kPanel, float_tiles::kSumBytes, float_tiles::kUnitBytes;
using float_tiles::Operand, float_tiles::panels, float_tiles::units;

// Units that are added up within registers: those of a panel of A, and of one of B, stay in a core's first cache.
constexpr std::int64_t kSumUnits = 4;
// Units of a panel, and panels of B, that a thread packs at once: they stay in its second cache, for all panels of A.
constexpr std::int64_t kPackedUnits = 3 * kSumUnits, kPackedPanels = 18;

// Of a panel, at once.
std::int64_t packed_units(std::int64_t k) {
  return std::min(kPackedUnits, (units(k) + kSumUnits - 1) / kSumUnits * kSumUnits);
}

// An operand's units, those together that are read one after the other: kSumUnits of the first panel, as many of the
// next, …, then the next ones of the first.
struct Packed {
  char* at;
  std::int64_t panels;
  char* units(std::int64_t panel, std::int64_t first) const {
    return at + (first * panels + panel * kSumUnits) * kUnitBytes;
  }
};

// So many panels' units [begin, end), the first being packed's panel 0, in the order in which their numbers lie.
using PackUnit = void (*)(const Operand& o, std::int64_t i, std::int64_t p, char* unit);
void pack(PackUnit pack_unit, const Operand& o, std::int64_t panel, std::int64_t begin, std::int64_t end,
          const Packed& packed) {
  const auto unit = [&](std::int64_t y, std::int64_t u) {
    char* const to = packed.units(y, (u - begin) / kSumUnits * kSumUnits) + (u - begin) % kSumUnits * kUnitBytes;
    pack_unit(o, (panel + y) * kPanel, u * kDepth, to);
  };
  if (o.across) {
    for (std::int64_t u = begin; u < end; ++u) {
      for (std::int64_t y = 0; y < packed.panels; ++y) unit(y, u);
    }
  } else {
    for (std::int64_t y = 0; y < packed.panels; ++y) {
      for (std::int64_t u = begin; u < end; ++u) unit(y, u);
    }
  }
}

// c cut into a region for each thread, in panels, as square as can be: a thread packs what its region needs.
struct Regions {
  Regions(std::int64_t panels_down, std::int64_t panels_across, int threads)
      : down(panels_down), across(panels_across), rows(down), columns(across) {
    for (std::int64_t in_row = 1; in_row <= threads; ++in_row) {
      const std::int64_t width = (across + in_row - 1) / in_row, in_column = threads / in_row;
      const std::int64_t height = (down + in_column - 1) / in_column;
      if (in_row == 1 || work(height, width) < work(rows, columns)) rows = height, columns = width;
    }
  }
  std::int64_t in_row() const { return (across + columns - 1) / columns; }
  std::int64_t count() const { return in_row() * ((down + rows - 1) / rows); }
  std::int64_t down, across, rows, columns;

 private:
  // Of a thread: products, and what it packs, a panel's weighing as much as some products.
  static std::int64_t work(std::int64_t height, std::int64_t width) { return height * width + 3 * (height + width); }
};

std::size_t thread_bytes(const TileGemm& g) {
  const std::int64_t across = std::min(kPackedPanels, panels(g.n));
  return static_cast<std::size_t>((1 + across) * packed_units(g.k) * kUnitBytes + across * kSumBytes);
}

// Region `index` of c. Is all of it finite?
bool multiply_region(const Operand& left, const Operand& right, const Regions& regions, std::int64_t index, float* c,
                     char* scratch) {
  const float_tiles::Use tiles;
  const std::int64_t top = index / regions.in_row() * regions.rows, side = index % regions.in_row() * regions.columns;
  const std::int64_t bottom = std::min(regions.down, top + regions.rows), row = right.count;
  const std::int64_t end = std::min(regions.across, side + regions.columns), depth = units(left.k);
  bool finite = true;
  for (std::int64_t j = side; j < end; j += kPackedPanels) {
    const Packed a{scratch, 1}, b{a.units(0, packed_units(left.k)), std::min(kPackedPanels, end - j)};
    char* const sums = b.units(0, packed_units(left.k));
    for (std::int64_t start = 0; start < depth; start += kPackedUnits) {
      check_interrupted();
      const std::int64_t stop = std::min(depth, start + kPackedUnits);
      pack(float_tiles::pack_columns, right, j, start, stop, b);
      for (std::int64_t x = top; x < bottom; ++x) {
        pack(float_tiles::pack_rows, left, x, start, stop, a);
        const float_tiles::Target t{c + x * kPanel * row + j * kPanel, row, std::min(kPanel, left.count - x * kPanel),
                                    std::min(b.panels * kPanel, right.count - j * kPanel)};
        for (std::int64_t u = start; u < stop; u += kSumUnits) {
          for (std::int64_t y = 0; y < b.panels; ++y) {
            float_tiles::multiply(a.units(0, u - start), b.units(y, u - start), std::min(kSumUnits, stop - u),
                                  u > start, t.rows, t.columns - y * kPanel, sums + y * kSumBytes);
          }
        }
        finite &= float_tiles::put(sums, start > 0, t);
      }
    }
  }
  return finite;
}

}  // namespace

std::size_t tile_gemm_scratch_bytes(const TileGemm& g, int threads) {
  return static_cast<std::size_t>(threads) * thread_bytes(g);
}

bool tile_gemm(const TileGemm& g, const float* a, const float* b, float* c, void* scratch) {
  const Operand left{a, g.m, g.k, g.transpose_a ? g.m : g.k, g.transpose_a};
  const Operand right{b, g.n, g.k, g.transpose_b ? g.k : g.n, !g.transpose_b};
  const Regions regions(panels(g.m), panels(g.n), thread_budget());
  std::atomic<bool> finite{true};
  parallel_for(regions.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      char* const mine = static_cast<char*>(scratch) + static_cast<std::size_t>(r) * thread_bytes(g);
      if (!multiply_region(left, right, regions, r, c, mine)) finite = false;
    }
  });
  return finite;
}

}  // namespace argosy
