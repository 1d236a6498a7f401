// A convolution as matrix products of patches and filter. A product takes as many images as fit a bound on the patches'
// bytes.
#pragma once

#include <algorithm>

#include "argosy/ops/conv/host_conv.h"
#include "argosy/ops/conv/patches.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

// Bounds on the bytes of the patches of one product. kPatchBytes: if every convolution is such a product (float64).
// kChunkPatchBytes: for a filter's gradient that one product sums chunk by chunk of the batch.
inline constexpr std::int64_t kPatchBytes = 8 << 20, kChunkPatchBytes = 32 << 20;

// How the convolution is split into products. Internal to conv_cpu.cc; what it refers to must outlive it.
struct PatchProducts {
  const HostConv& o;
  const ConvGeometry& g;
  std::int64_t element_bytes, most_bytes = kPatchBytes;

  bool trivial() const { return Patches{g}.trivial(); }
  std::int64_t columns() const { return Patches{g}.columns(); }
  std::int64_t per_image() const { return g.h.out * g.w.out; }
  // of_all(): images of one product, out of the global batch. at_once(): out of the images on this device.
  std::int64_t of_all() const {
    const std::int64_t all = o.batch.global(g.batch);
    if (trivial()) return all;
    return std::clamp<std::int64_t>(most_bytes / element_bytes / (per_image() * columns()), 1, all);
  }
  std::int64_t at_once() const { return std::min(of_all(), g.batch); }
  std::size_t patch_bytes() const {
    return trivial() ? 0 : static_cast<std::size_t>(at_once() * per_image() * columns() * element_bytes);
  }
  // Bytes of a second filter: the products of a filter's gradient are added up over the images.
  std::size_t sum_bytes() const {
    const bool adds = o.kind == onednn::ConvKind::kBackwardFilter && at_once() < g.batch;
    return adds ? static_cast<std::size_t>(g.filter_elements() * element_bytes) : 0;
  }
  // The matrix product for so many images.
  Gemm product(std::int64_t images) const {
    const std::int64_t rows = images * per_image();
    if (o.kind == onednn::ConvKind::kBackwardFilter)
      return {true, false, columns(), g.out_c, rows, o.batch, per_image()};
    Gemm gemm{.m = rows, .n = g.out_c, .k = columns(), .global_rows = of_all() * per_image()};
    if (o.kind == onednn::ConvKind::kForward) return gemm;
    gemm.transpose_b = true;
    std::swap(gemm.n, gemm.k);
    return gemm;
  }
  std::uint64_t scratch_bytes(MatMulPrograms& programs, DType dtype) const {
    const bool forward = o.kind == onednn::ConvKind::kForward;
    const auto of = [&](std::int64_t images) {
      if (images == 0) return std::uint64_t{0};
      return gemm_scratch_bytes(programs, product(images), dtype, forward && o.fused.bias,
                                forward ? o.fused : FusedOps());
    };
    return patch_bytes() + sum_bytes() + std::max(of(at_once()), of(g.batch % at_once()));
  }
};

template <typename T>
Status by_patches(KernelContext& c, MatMulPrograms& programs, const PatchProducts& p, const HostConvCall& call) {
  const ConvGeometry& g = call.g;
  const bool trivial = p.trivial();
  const std::int64_t per_image = p.per_image(), at_once = p.at_once();
  Buffer memory, sum;
  if (!trivial) {
    ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(p.patch_bytes()));
  }
  if (p.sum_bytes() > 0) {
    ARGOSY_ASSIGN_OR_RETURN(sum, c.scratch(p.sum_bytes()));
  }
  T* const patches = reinterpret_cast<T*>(memory.data());
  T* const share = reinterpret_cast<T*>(sum.data());
  const std::int64_t image_size = g.h.in * g.w.in * g.in_c;
  const auto* const first = static_cast<const T*>(call.first);
  const auto* const second = static_cast<const T*>(call.second);
  T* const result = call.result->data<T>();
  const FusedOps nothing;
  if (share != nullptr) std::fill_n(result, call.result->elements(), T(0));
  ConvGeometry part = g;
  const Patches some{part};
  for (std::int64_t n = 0; n < g.batch; n += at_once) {
    part.batch = std::min(at_once, g.batch - n);
    const Gemm product = p.product(part.batch);
    if (p.o.kind == onednn::ConvKind::kBackwardInput) {
      T* const image = result + n * image_size;
      const T* const dy = first + n * per_image * g.out_c;
      if (trivial) return gemm(c, programs, product, dy, second, nullptr, nothing, image);
      ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, dy, second, nullptr, nothing, patches));
      some.scatter_add(patches, image);
      continue;
    }
    const T* a = first + n * image_size;
    if (!trivial) {
      some.gather(a, patches);
      a = patches;
    }
    if (p.o.kind == onednn::ConvKind::kForward) {
      ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, a, second, static_cast<const T*>(call.bias), p.o.fused,
                                  result + n * per_image * g.out_c));
      continue;
    }
    const T* const dy = second + n * per_image * g.out_c;
    if (share == nullptr) return gemm(c, programs, product, a, dy, nullptr, nothing, result);
    ARGOSY_RETURN_IF_ERROR(gemm(c, programs, product, a, dy, nullptr, nothing, share));
    parallel_for(call.result->elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) result[i] += share[i];
    });
  }
  return ok_status();
}

}  // namespace argosy
