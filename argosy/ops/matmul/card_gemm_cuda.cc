#include "argosy/ops/matmul/card_gemm.h"

namespace argosy::cuda {

namespace {

// As in gemm_cuda.cu.
struct Product {
  std::int64_t batches, m, n, k;
  std::int64_t a_row, a_column, a_batch;
  std::int64_t b_row, b_column, b_batch;
  int activation;
  float alpha;
};

}  // namespace

Status gemm_on_card(KernelContext& c, DType dtype, const Gemm& g, const Batch& batch, const void* a, const void* b,
                    const void* bias, const FusedOps& fused, void* out) {
  if (batch.matrices * g.m * g.n == 0) return ok_status();
  Product p{};
  p.batches = batch.matrices;
  p.m = g.m, p.n = g.n, p.k = g.k;
  p.a_row = g.transpose_a ? 1 : g.k, p.a_column = g.transpose_a ? g.m : 1, p.a_batch = batch.a_stride;
  p.b_row = g.transpose_b ? 1 : g.n, p.b_column = g.transpose_b ? g.k : 1, p.b_batch = batch.b_stride;
  p.activation = static_cast<int>(fused.activation);
  p.alpha = fused.alpha;
  LaunchShape shape{.block = {16, 16, 1}};
  const std::int64_t tiles = batch.matrices * ((g.m + 31) / 32) * ((g.n + 31) / 32);
  shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(tiles, kMostBlocks));
  return launch(c, {"gemm", str_cat("gemm_", type_suffix(dtype))}, shape, p, a, b, bias, out);
}

}  // namespace argosy::cuda
