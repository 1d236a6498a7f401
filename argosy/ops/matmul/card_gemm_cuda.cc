#include "argosy/ops/matmul/card_gemm.h"

#include "argosy/base/log.h"
#include "argosy/ops/matmul/card_blas.h"

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

// The activation alone, in place, where the library's products do not know it.
Status activate(KernelContext& c, DType dtype, const FusedOps& fused, void* y, std::int64_t n) {
  const auto start = [&](std::string_view module, std::string_view function) {
    return launch(c, {module, str_cat("unary_", function, "_", type_suffix(dtype))},
                  grid_for_packs(n, element_bytes(dtype)), n, y, y);
  };
  switch (fused.activation) {
    case Activation::kRelu6: return start("unary_simple", "Relu6");
    case Activation::kElu: return start("unary_functions", "Elu");
    case Activation::kSigmoid: return start("unary_functions", "Sigmoid");
    case Activation::kTanh: return start("unary_functions", "Tanh");
    case Activation::kLeakyRelu:
      return launch(c, {"elementwise_more", str_cat("leaky_relu_", type_suffix(dtype))}, grid_for(n), n, y, y,
                    fused.alpha);
    default: return ok_status();
  }
}

// The device's cuBLASLt; null where it is not, which is said once.
std::shared_ptr<CardBlas> blas_of(CudaDevice& device) {
  const auto held = device.keep("cuBLASLt", [] {
    auto blas = CardBlas::open();
    if (!blas.ok()) ARGOSY_LOG(kWarning, "products run without cuBLASLt: ", blas.status().to_string());
    return std::make_shared<std::shared_ptr<CardBlas>>(blas.ok() ? *std::move(blas) : nullptr);
  });
  return *static_cast<std::shared_ptr<CardBlas>*>(held.get());
}

// The largest power of two, up to 256, that divides every address and distance.
unsigned alignment_of(std::initializer_list<const void*> pointers, std::int64_t stride_bytes) {
  std::uintptr_t bits = 256 | static_cast<std::uintptr_t>(stride_bytes);
  for (const void* p : pointers) bits |= reinterpret_cast<std::uintptr_t>(p);
  return static_cast<unsigned>(bits & (~bits + 1));
}

// UNIMPLEMENTED where it is our own kernel's.
Status by_library(KernelContext& c, DType dtype, const Gemm& g, const Batch& batch, const void* a, const void* b,
                  const void* bias, const FusedOps& fused, void* out) {
  CudaDevice& device = device_of(*c.device());
  if (!is_floating(dtype) || g.k == 0 || !device.vendor_libraries()) return unimplemented("no library");
  ARGOSY_ASSIGN_OR_RETURN(const CuStream stream, device.stream());
  const std::shared_ptr<CardBlas> blas = blas_of(device);
  if (blas == nullptr) return unimplemented("no library");
  BlasProblem problem =
      blas_problem(dtype, g, batch, bias != nullptr, fused.activation == Activation::kRelu, device.math().tf32);
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  const std::int64_t strides = batch.matrices > 1 ? batch.a_stride | batch.b_stride | (g.m * g.n) : 0;
  problem.alignment = alignment_of({a, b, bias, out}, strides * bytes);
  ARGOSY_RETURN_IF_ERROR(
      blas->multiply(problem, {.a = b, .b = a, .bias = bias, .d = out}, c.allocator(), static_cast<void*>(stream)));
  return activate(c, dtype, fused, out, batch.matrices * g.m * g.n);
}

}  // namespace

Status gemm_on_card(KernelContext& c, DType dtype, const Gemm& g, const Batch& batch, const void* a, const void* b,
                    const void* bias, const FusedOps& fused, void* out, Adjoint adjoint) {
  if (batch.matrices * g.m * g.n == 0) return ok_status();
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
