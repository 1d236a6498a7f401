#include "argosy/ops/matmul/gemm.h"

#include <algorithm>
#include <array>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/matmul/chunked_sum.h"
#include "argosy/ops/matmul/float_tiles.h"
#include "argosy/ops/matmul/gemm_simd.h"
#include "argosy/ops/matmul/tile_gemm.h"

namespace argosy {

namespace {

// Rows of a up to which dot products beat transposing b (measured: 10x256x256 10 us against 20 us).
constexpr std::int64_t kDotRows = 16;
// Sums this long are the packed sgemm's: the primitive packs b anew on every call (64x4608x512: 1.9 ms against 2.6 ms).
// Not of a transposed b, which the primitive turns while it packs (128x3136x1024: 4.4 ms against 8.3).
constexpr std::int64_t kLongSum = 1024;
// From these sizes on tiles are faster, which pack both operands (128x256x256: 1.1 to 1.4 times oneDNN's speed, 512
// cubed 1.3 to 1.6; 64x256x256 0.9 to 1.05).
constexpr std::int64_t kTileSide = 128, kTileProducts = 1 << 23;
constexpr std::int64_t kGrainFlops = 1 << 22;              // worth a thread: 40 µs
constexpr std::int64_t kTileGrainFlops = 4 * kGrainFlops;  // the same of bfloat16 by tiles

void finish_rows(std::int64_t rows, std::int64_t n, const float* bias, const FusedOps& fused, float* out) {
  if (bias == nullptr && fused.activation == FusedOps::Activation::kNone) return;
  parallel_for(rows, std::max<std::int64_t>(1, (1 << 15) / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* const row = out + i * n;
      if (bias != nullptr) {
        for (std::int64_t j = 0; j < n; ++j) row[j] += bias[j];
      }
      if (fused.activation == FusedOps::Activation::kRelu) {
        for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] < 0 ? 0 : row[j];
      } else if (fused.activation != FusedOps::Activation::kNone) {
        for (std::int64_t j = 0; j < n; ++j) row[j] = apply_activation(fused, row[j]);
      }
    }
  });
}

onednn::MatMulSpec spec_of(const Gemm& g, DType dtype, bool bias, const FusedOps& fused) {
  return {.dtype = dtype,
          .activation = static_cast<onednn::Activation>(fused.activation),
          .transpose_a = g.transpose_a,
          .transpose_b = g.transpose_b,
          .bias = bias,
          .alpha = fused.alpha,
          .m = g.m,
          .n = g.n,
          .k = g.k};
}

Status run_program(KernelContext& c, MatMulPrograms& programs, const Gemm& g, DType dtype, const void* a, const void* b,
                   const void* bias, const FusedOps& fused, void* out) {
  std::shared_ptr<onednn::Program> own;
  ARGOSY_ASSIGN_OR_RETURN(onednn::Program* const program, programs.get(spec_of(g, dtype, bias != nullptr, fused), own));
  Buffer scratch;
  if (program->scratch_bytes() > 0) {
    ARGOSY_ASSIGN_OR_RETURN(scratch, c.scratch(program->scratch_bytes()));
  }
  void* const with_bias[] = {const_cast<void*>(a), const_cast<void*>(b), const_cast<void*>(bias), out};
  void* const without[] = {const_cast<void*>(a), const_cast<void*>(b), out};
  return bias != nullptr ? program->run(with_bias, scratch.data()) : program->run(without, scratch.data());
}

// The operands of a product in float32, one after the other: elements of a, b, the bias, the product.
std::array<std::int64_t, 4> wide_sizes(const Gemm& g, bool bias) {
  return {g.m * g.k, g.k * g.n, bias ? g.n : 0, g.m * g.n};
}
std::size_t wide_bytes(const Gemm& g, bool bias) {
  const auto sizes = wide_sizes(g, bias);
  return static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2] + sizes[3]) * sizeof(float);
}

// 16-bit floats by way of float32, where oneDNN has no products of their own.
template <typename T>
Status by_float(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const T* a, const T* b, const T* bias,
                const FusedOps& fused, T* out) {
  const auto sizes = wide_sizes(g, bias != nullptr);
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(wide_bytes(g, bias != nullptr)));
  auto* const wide_a = reinterpret_cast<float*>(memory.data());
  float* const wide_b = wide_a + sizes[0];
  float* const wide_bias = wide_b + sizes[1];
  float* const wide_out = wide_bias + sizes[2];
  const auto widen = [](const T* from, float* to, std::int64_t count) {
    parallel_for(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(from[i]);
    });
  };
  widen(a, wide_a, sizes[0]);
  widen(b, wide_b, sizes[1]);
  if (bias != nullptr) widen(bias, wide_bias, sizes[2]);
  ARGOSY_RETURN_IF_ERROR(gemm(c, programs, g, wide_a, wide_b, bias != nullptr ? wide_bias : nullptr, fused, wide_out));
  parallel_for(sizes[3], 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = T(wide_out[i]);
  });
  return ok_status();
}

ChunkEnds sum_ends(const Gemm& g) {
  ChunkEnds ends = chunk_ends(g.k / g.per_example, g.batch.count);
  for (std::int64_t& end : ends) end *= g.per_example;
  return ends;
}

ChunkedSum chunked_sum_of(const Gemm& g, const ChunkEnds& ends) {
  return {g.m, g.n, g.k, std::span(ends).first(static_cast<std::size_t>(g.batch.count))};
}

Status sum_batch(KernelContext& c, const Gemm& g, const float* a, const float* b, float* out) {
  const ChunkEnds ends = sum_ends(g);
  const ChunkedSum sum = chunked_sum_of(g, ends);
  ARGOSY_ASSIGN_OR_RETURN(const Buffer scratch, c.scratch(chunked_sum_scratch_bytes(sum, thread_budget())));
  chunked_sum(sum, a, b, out, reinterpret_cast<float*>(scratch.data()));
  return ok_status();
}

// A rule that knows shapes only, and of a batch's rows all of them, so that any share of them has the same bits.
bool tiles_pay(const Gemm& g, std::int64_t rows) {
  return std::min({rows, g.n, g.k}) >= kTileSide && rows * g.n * g.k >= kTileProducts && has_float_tiles();
}

// False when that gave no finite result.
Result<bool> by_tiles(KernelContext& c, const Gemm& g, const float* a, const float* b, float* out) {
  const TileGemm tiles{g.transpose_a, g.transpose_b, g.m, g.n, g.k};
  ARGOSY_ASSIGN_OR_RETURN(const Buffer scratch, c.scratch(tile_gemm_scratch_bytes(tiles, thread_budget())));
  return tile_gemm(tiles, a, b, out, scratch.data());
}

// Products of small batches are over before a second thread is awake.
int threads_of(const Gemm& g, std::int64_t grain) { return 2 * g.m * g.n * g.k < 2 * grain ? 1 : thread_budget(); }

std::int64_t bfloat16_grain() { return onednn::has_tiles(DType::kBfloat16) ? kTileGrainFlops : kGrainFlops; }

// How float32 is multiplied.
enum class Algorithm : std::uint8_t {
  kChunks,  // sums over a batch, chunk by chunk
  kDots,    // dot products of rows
  kTiles,   // by float tiles; where their result is not finite, the next of these
  kSgemm,   // the packed sgemm
  kProgram  // oneDNN's primitive
};

std::int64_t all_rows(const Gemm& g) { return g.global_rows > 0 ? g.global_rows : g.m; }

Algorithm algorithm_without_tiles(const Gemm& g) {
  const std::int64_t rows = all_rows(g);
  const bool deterministic = g.batch.rows() && rows >= kMinChunkedExamples && rows <= kMostSummed;
  // The blocks of sgemm depend on the number of rows.
  return g.k >= kLongSum && !g.transpose_b && !deterministic ? Algorithm::kSgemm : Algorithm::kProgram;
}

Algorithm algorithm_of(const Gemm& g) {
  const std::int64_t examples = g.k / g.per_example, rows = all_rows(g);
  const bool sums = g.batch.sums(examples) && g.batch.global(examples) <= kMostSummed;
  if (sums && g.transpose_a && !g.transpose_b) return Algorithm::kChunks;
  if (g.transpose_b && !g.transpose_a && rows <= kDotRows && g.k >= 32) return Algorithm::kDots;
  return tiles_pay(g, rows) ? Algorithm::kTiles : algorithm_without_tiles(g);
}

std::uint64_t program_bytes(MatMulPrograms& programs, const Gemm& g, DType dtype, bool bias, const FusedOps& fused) {
  std::shared_ptr<onednn::Program> own;
  const auto program = programs.get(spec_of(g, dtype, bias, fused), own);
  return program.ok() ? (*program)->scratch_bytes() : 0;  // what cannot be made is not run
}

std::uint64_t float_bytes(MatMulPrograms& programs, const Gemm& g, bool bias, const FusedOps& fused) {
  const ThreadLimit limit(threads_of(g, kGrainFlops));
  switch (algorithm_of(g)) {
    case Algorithm::kDots:
    case Algorithm::kSgemm: return 0;
    case Algorithm::kChunks: {
      const ChunkEnds ends = sum_ends(g);
      return chunked_sum_scratch_bytes(chunked_sum_of(g, ends), thread_budget());
    }
    case Algorithm::kTiles: {
      const std::uint64_t tiles =
          tile_gemm_scratch_bytes({g.transpose_a, g.transpose_b, g.m, g.n, g.k}, thread_budget());
      if (algorithm_without_tiles(g) == Algorithm::kSgemm) return tiles;
      return std::max(tiles, program_bytes(programs, g, DType::kFloat32, bias, fused));
    }
    case Algorithm::kProgram: break;
  }
  return program_bytes(programs, g, DType::kFloat32, bias, fused);
}

}  // namespace

std::uint64_t gemm_scratch_bytes(MatMulPrograms& programs, const Gemm& g, DType dtype, bool bias,
                                 const FusedOps& fused) {
  switch (dtype) {
    case DType::kFloat32: return float_bytes(programs, g, bias, fused);
    case DType::kFloat64: return g.transpose_b ? static_cast<std::uint64_t>(g.k * g.n) * sizeof(double) : 0;
    case DType::kBfloat16:
      if (onednn::supports(dtype)) {
        const ThreadLimit limit(threads_of(g, bfloat16_grain()));
        return program_bytes(programs, g, dtype, bias, fused);
      }
      break;
    default: break;
  }
  return wide_bytes(g, bias) + float_bytes(programs, g, bias, fused);
}

Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float* a, const float* b,
            const float* bias, const FusedOps& fused, float* out) {
  const ThreadLimit limit(threads_of(g, kGrainFlops));
  Algorithm algorithm = algorithm_of(g);
  if (algorithm == Algorithm::kTiles) {
    ARGOSY_ASSIGN_OR_RETURN(const bool done, by_tiles(c, g, a, b, out));
    if (!done) algorithm = algorithm_without_tiles(g);
  }
  switch (algorithm) {
    case Algorithm::kTiles: break;
    case Algorithm::kChunks: ARGOSY_RETURN_IF_ERROR(sum_batch(c, g, a, b, out)); break;
    case Algorithm::kDots:
      parallel_for(g.n, std::max<std::int64_t>(16, kGrainFlops / (2 * g.m * g.k)),
                   [&](std::int64_t begin, std::int64_t end) { gemm_dot_rows(g.m, g.n, g.k, a, b, out, begin, end); });
      break;
    case Algorithm::kSgemm:
      ARGOSY_RETURN_IF_ERROR(onednn::sgemm(g.transpose_a, g.transpose_b, g.m, g.n, g.k, a, b, false, out));
      break;
    case Algorithm::kProgram: return run_program(c, programs, g, DType::kFloat32, a, b, bias, fused, out);
  }
  finish_rows(g.m, g.n, bias, fused, out);
  return ok_status();
}

Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const bfloat16* a, const bfloat16* b,
            const bfloat16* bias, const FusedOps& fused, bfloat16* out) {
  const ThreadLimit limit(threads_of(g, bfloat16_grain()));
  if (!onednn::supports(DType::kBfloat16)) return by_float(c, programs, g, a, b, bias, fused, out);
  return run_program(c, programs, g, DType::kBfloat16, a, b, bias, fused, out);
}

Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float16* a, const float16* b,
            const float16* bias, const FusedOps& fused, float16* out) {
  return by_float(c, programs, g, a, b, bias, fused, out);
}

Status gemm(KernelContext& c, MatMulPrograms&, const Gemm& g, const double* a, const double* b, const double* bias,
            const FusedOps& fused, double* out) {
  Buffer memory;
  if (g.transpose_b) {  // into rows of k, so that columns of the result lie side by side
    ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(g.k * g.n) * sizeof(double)));
    auto* const turned = reinterpret_cast<double*>(memory.data());
    for (std::int64_t j = 0; j < g.n; ++j) {
      for (std::int64_t p = 0; p < g.k; ++p) turned[p * g.n + j] = b[j * g.k + p];
    }
    b = turned;
  }
  parallel_for_whole(g.m, std::max<std::int64_t>(1, kGrainFlops / 2 / (g.n * g.k)),
                     [&](std::int64_t begin, std::int64_t end) {
                       gemm_f64(g.n, g.k, a, g.transpose_a ? 1 : g.k, g.transpose_a ? g.m : 1, b, out, begin, end);
                       for (std::int64_t i = begin; i < end; ++i) {
                         for (std::int64_t j = 0; j < g.n; ++j) {
                           const double sum = out[i * g.n + j] + (bias != nullptr ? bias[j] : 0);
                           out[i * g.n + j] = apply_activation(fused, sum);
                         }
                       }
                     });
  return ok_status();
}

}  // namespace argosy
