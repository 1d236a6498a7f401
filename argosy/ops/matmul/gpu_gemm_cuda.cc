#include "argosy/ops/matmul/gpu_gemm.h"

#include <limits>

#include "argosy/base/log.h"
#include "argosy/ops/matmul/gpu_blas.h"

namespace argosy::cuda {

namespace {

// As in gemm_cuda.cu.
struct Product {
  std::int64_t batches, m, n, k;
  std::int64_t a_row, a_column, a_batch;
  std::int64_t b_row, b_column, b_batch;
  int activation;
  float alpha;
  int conjugate_a, conjugate_b;
};

using Activation = FusedOps::Activation;

// Bias and activation in place, where the library's products do not have them.
Status finish(KernelContext& c, DType dtype, std::int64_t columns, const void* bias, const FusedOps& fused, void* y,
              std::int64_t n) {
  return launch(c, {"conv", str_cat("conv_finish_", type_suffix(dtype))}, grid_for(n), n, columns, std::int64_t{1},
                bias, static_cast<int>(fused.activation), fused.alpha, y);
}

// The device's cuBLASLt; null where it is not, which is said once.
std::shared_ptr<GpuBlas> blas_of(CudaDevice& device) {
  const auto held = device.keep("cuBLASLt", [] {
    auto blas = GpuBlas::open();
    if (!blas.ok()) ARGOSY_LOG(kWarning, "products run without cuBLASLt: ", blas.status().to_string());
    return std::make_shared<std::shared_ptr<GpuBlas>>(blas.ok() ? *std::move(blas) : nullptr);
  });
  return *static_cast<std::shared_ptr<GpuBlas>*>(held.get());
}

// The largest power of two, up to 256, that divides every address and distance.
unsigned alignment_of(std::initializer_list<const void*> pointers, std::int64_t stride_bytes) {
  std::uintptr_t bits = 256 | static_cast<std::uintptr_t>(stride_bytes);
  for (const void* p : pointers) bits |= reinterpret_cast<std::uintptr_t>(p);
  return static_cast<unsigned>(bits & (~bits + 1));
}

// One product of the library's, or several where it does not take so many matrices at once.
Status multiply(GpuBlas& blas, KernelContext& c, DType dtype, const Gemm& g, const Batch& batch,
                const GpuBlas::Pointers& at, bool relu, CuStream stream) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  const std::int64_t d_stride = g.m * g.n;
  const std::int64_t strides = batch.matrices > 1 ? batch.a_stride | batch.b_stride | d_stride : 0;
  const unsigned alignment = alignment_of({at.a, at.b, at.d}, strides * bytes);
  for (std::int64_t first = 0; first < batch.matrices; first += kMostBlasBatches) {
    const Batch part{std::min(kMostBlasBatches, batch.matrices - first), batch.a_stride, batch.b_stride};
    BlasProblem problem = blas_problem(dtype, g, part, at.bias != nullptr, relu, device_of(*c.device()).math().tf32);
    problem.alignment = alignment;
    // The library's first matrix is our second.
    const auto from = [&](const void* p, std::int64_t stride) {
      return static_cast<const std::byte*>(p) + first * stride * bytes;
    };
    const GpuBlas::Pointers here{.a = from(at.a, batch.b_stride),
                                 .b = from(at.b, batch.a_stride),
                                 .bias = at.bias,
                                 .d = static_cast<std::byte*>(at.d) + first * d_stride * bytes};
    ARGOSY_RETURN_IF_ERROR(blas.multiply(problem, here, c.allocator(), static_cast<void*>(stream)));
  }
  return ok_status();
}

// UNIMPLEMENTED where it is our own kernel's.
Status by_library(KernelContext& c, DType dtype, const Gemm& g, const Batch& batch, const void* a, const void* b,
                  const void* bias, const FusedOps& fused, void* out) {
  CudaDevice& device = device_of(*c.device());
  if (!is_floating(dtype) || g.k == 0 || !device.vendor_libraries()) return unimplemented("no library");
  if (std::max({g.m, g.n, g.k}) > std::numeric_limits<std::int32_t>::max()) return unimplemented("such large sizes");
  ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, device.stream());
  const std::shared_ptr<GpuBlas> blas = blas_of(device);
  if (blas == nullptr) return unimplemented("no library");
  const std::int64_t n = batch.matrices * g.m * g.n;
  const bool relu = fused.activation == Activation::kRelu;
  const bool bias_in_place = bias == nullptr || alignment_of({bias}, 0) >= kBlasBiasAlignment;
  if (bias_in_place) {
    const Status done = multiply(*blas, c, dtype, g, batch, {.a = b, .b = a, .bias = bias, .d = out}, relu, stream);
    if (done.ok() && (relu || fused.activation == Activation::kNone)) return done;
    if (done.ok()) return finish(c, dtype, g.n, nullptr, fused, out, n);
    if (done.code() != Code::kUnimplemented || (bias == nullptr && !relu)) return done;
  }
  ARGOSY_RETURN_IF_ERROR(
      multiply(*blas, c, dtype, g, batch, {.a = b, .b = a, .bias = nullptr, .d = out}, false, stream));
  if (bias == nullptr && fused.activation == Activation::kNone) return ok_status();
  return finish(c, dtype, g.n, bias, fused, out, n);
}

}  // namespace

Status gemm_on_gpu(KernelContext& c, DType dtype, const Gemm& g, const Batch& batch, const void* a, const void* b,
                   const void* bias, const FusedOps& fused, void* out, Adjoint adjoint) {
  if (batch.matrices * g.m * g.n == 0) return ok_status();
  if (batch.matrices > 1 && batch.b_stride == 0 && batch.a_stride == g.m * g.k && !g.transpose_a) {
    // All by one second matrix: the rows of one product.
    Gemm all = g;
    all.m *= batch.matrices;
    return gemm_on_gpu(c, dtype, all, {}, a, b, bias, fused, out, adjoint);
  }
  const Status done = by_library(c, dtype, g, batch, a, b, bias, fused, out);
  if (done.code() != Code::kUnimplemented) return done;
  Product p{};
  p.batches = batch.matrices;
  p.m = g.m, p.n = g.n, p.k = g.k;
  p.a_row = g.transpose_a ? 1 : g.k, p.a_column = g.transpose_a ? g.m : 1, p.a_batch = batch.a_stride;
  p.b_row = g.transpose_b ? 1 : g.n, p.b_column = g.transpose_b ? g.k : 1, p.b_batch = batch.b_stride;
  p.activation = static_cast<int>(fused.activation);
  p.alpha = fused.alpha;
  p.conjugate_a = adjoint == Adjoint::kYes && g.transpose_a ? 1 : 0;
  p.conjugate_b = adjoint == Adjoint::kYes && g.transpose_b ? 1 : 0;
  LaunchShape shape{.block = {16, 16, 1}};
  const std::int64_t tiles = batch.matrices * ((g.m + 31) / 32) * ((g.n + 31) / 32);
  shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(tiles, kMostBlocks));
  return launch(c, {"gemm", str_cat("gemm_", number_suffix(dtype))}, shape, p, a, b, bias, out);
}

}  // namespace argosy::cuda
