#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/reduction/reduction_loops.h"
#include "argosy/tensor/buffer.h"

namespace argosy::reduction {

namespace {

constexpr std::int64_t kRowBlock = 8192;  // elements of a row folded in one go; longer rows in blocks, then the blocks
constexpr std::int64_t kColumnBlock = 128;  // the same for the elements of a column
constexpr std::int64_t kNarrow = 128;       // rows narrower than this are folded several side by side
constexpr std::int64_t kGrain = 32768;      // elements worth a thread

std::int64_t blocks_of(std::int64_t n, std::int64_t block) { return (n + block - 1) / block; }

bool is_narrow(std::int64_t rows, std::int64_t width) {
  const std::int64_t side_by_side = kNarrow / width;
  return side_by_side >= 2 && rows >= 4 * side_by_side;
}

class BlockReduction {
 public:
  BlockReduction(Fold fold, DType dtype, Allocator& allocator)
      : fold_(fold),
        dtype_(dtype),
        loops_(find_loops(fold, dtype)),
        bytes_(element_bytes(dtype)),
        allocator_(allocator) {}

  Status run(const std::byte* x, std::int64_t outer, std::int64_t count, std::int64_t inner, std::byte* out) {
    if (inner == 1) return rows(x, outer, count, out);
    return columns(x, outer, count, inner, out);
  }

 private:
  Status go_on(const Buffer& partial, std::int64_t outer, std::int64_t count, std::int64_t inner, std::byte* out) {
    return BlockReduction(next(fold_), dtype_, allocator_).run(partial.data(), outer, count, inner, out);
  }

  Status rows(const std::byte* x, std::int64_t rows, std::int64_t n, std::byte* out) {
    if (n <= kRowBlock) {
      parallel_for(rows, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
        loops_.rows(x + begin * n * bytes_, end - begin, n, out + begin * bytes_);
      });
      return ok_status();
    }
    const std::int64_t blocks = blocks_of(n, kRowBlock);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer partial,
                            allocator_.allocate(static_cast<std::size_t>(rows * blocks * bytes_)));
    parallel_for(rows * blocks, kGrain / kRowBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i % blocks * kRowBlock;
        loops_.rows(x + (i / blocks * n + at) * bytes_, 1, std::min(kRowBlock, n - at), partial.data() + i * bytes_);
      }
    });
    return go_on(partial, rows, blocks, 1, out);
  }

  Status columns(const std::byte* x, std::int64_t outer, std::int64_t rows, std::int64_t width, std::byte* out) {
    // Narrow rows: several of them make one wide row, whose parts are folded at the end.
    const std::int64_t side_by_side = kNarrow / width;
    if (is_narrow(rows, width)) return fold_wide(x, outer, rows, side_by_side, width, out);
    const std::int64_t blocks = blocks_of(rows, kColumnBlock);
    if (blocks == 1) {
      // Cores share the outer axis, or the columns of one.
      const std::int64_t piece = outer * rows * width <= kGrain ? width : std::max<std::int64_t>(64, kGrain / rows / 2);
      const std::int64_t pieces = blocks_of(width, piece);
      parallel_for(outer * pieces, std::max<std::int64_t>(1, kGrain / (rows * std::min(piece, width))),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t at = i % pieces * piece;
                       const std::int64_t o = i / pieces;
                       loops_.columns(x + (o * rows * width + at) * bytes_, rows, width, std::min(piece, width - at),
                                      out + (o * width + at) * bytes_);
                     }
                   });
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(const Buffer partial,
                            allocator_.allocate(static_cast<std::size_t>(outer * blocks * width * bytes_)));
    parallel_for(outer * blocks, std::max<std::int64_t>(1, kGrain / (kColumnBlock * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t at = i % blocks * kColumnBlock;
                     loops_.columns(x + (i / blocks * rows + at) * width * bytes_, std::min(kColumnBlock, rows - at),
                                    width, width, partial.data() + i * width * bytes_);
                   }
                 });
    return go_on(partial, outer, blocks, width, out);
  }

  Status fold_wide(const std::byte* x, std::int64_t outer, std::int64_t rows, std::int64_t side_by_side,
                   std::int64_t width, std::byte* out) {
    const std::int64_t wide = side_by_side * width;
    const std::int64_t whole = rows / side_by_side;
    const std::int64_t rest = rows % side_by_side;
    const std::int64_t parts = side_by_side + rest;  // the folded wide row, and the rows that filled none
    ARGOSY_ASSIGN_OR_RETURN(const Buffer partial,
                            allocator_.allocate(static_cast<std::size_t>(outer * parts * width * bytes_)));
    if (rest == 0) {
      ARGOSY_RETURN_IF_ERROR(columns(x, outer, whole, wide, partial.data()));
    } else {
      for (std::int64_t o = 0; o < outer; ++o) {
        const std::byte* const from = x + o * rows * width * bytes_;
        std::byte* const to = partial.data() + o * parts * width * bytes_;
        ARGOSY_RETURN_IF_ERROR(columns(from, 1, whole, wide, to));
        loops_.columns(from + whole * wide * bytes_, 1, 0, rest * width, to + wide * bytes_);
      }
    }
    return go_on(partial, outer, parts, width, out);
  }

  const Fold fold_;
  const DType dtype_;
  const Loops loops_;
  const std::int64_t bytes_;
  Allocator& allocator_;
};

// Elements that BlockReduction holds at once: partial results stay while they are folded.
std::int64_t partial_elements(std::int64_t outer, std::int64_t count, std::int64_t inner) {
  if (inner == 1) {
    if (count <= kRowBlock) return 0;
    const std::int64_t partial = outer * blocks_of(count, kRowBlock);
    return partial + partial_elements(outer, blocks_of(count, kRowBlock), 1);
  }
  if (is_narrow(count, inner)) {
    const std::int64_t side_by_side = kNarrow / inner, rest = count % side_by_side, parts = side_by_side + rest;
    const std::int64_t wide = partial_elements(rest == 0 ? outer : 1, count / side_by_side, side_by_side * inner);
    return outer * parts * inner + std::max(wide, partial_elements(outer, parts, inner));
  }
  const std::int64_t blocks = blocks_of(count, kColumnBlock);
  return blocks == 1 ? 0 : outer * blocks * inner + partial_elements(outer, blocks, inner);
}

}  // namespace

std::uint64_t fold_middle_bytes(std::size_t element_bytes, std::int64_t outer, std::int64_t count, std::int64_t inner) {
  return static_cast<std::uint64_t>(partial_elements(outer, count, inner)) * element_bytes;
}

Status fold_middle(Fold fold, DType dtype, const void* x, std::int64_t outer, std::int64_t count, std::int64_t inner,
                   void* out, Allocator& allocator) {
  return BlockReduction(fold, dtype, allocator)
      .run(static_cast<const std::byte*>(x), outer, count, inner, static_cast<std::byte*>(out));
}

}  // namespace argosy::reduction
