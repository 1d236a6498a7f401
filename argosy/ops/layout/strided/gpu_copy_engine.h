// GpuCopyEngine: the copy engine (strided_copy.h) by which the layout family's kernels run on a GPU.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy::cuda {

class GpuCopyEngine final : public CopyEngine {
 public:
  explicit GpuCopyEngine(KernelContext& context) : context_(context) {}
  void move(void* to, const void* from, std::size_t bytes, const Region& region) override;
  void fill(void* to, std::int64_t elements, std::size_t bytes, const void* value) override;
  bool add(void* to, const void* a, const void* b, std::int64_t elements, DType dtype) override;
  // The first error of its copies.
  Status status() const { return status_; }

 private:
  Status try_move(void* to, const void* from, std::size_t bytes, const Region& region);

  KernelContext& context_;
  Status status_;
};

// Runs the kernel, with a copy engine in its context.
Status run_with_copy_engine(Kernel& kernel, KernelContext& c);

// y = x broadcast to y's shape. REQUIRES: x broadcasts to it.
Status broadcast_on_gpu(KernelContext& c, const Tensor& x, const Tensor& y);

// Makes the CPU's kernel for the node, which runs with a copy engine in scope. REQUIRES: its op is one of layout_ops.h.
Result<std::unique_ptr<Kernel>> make_layout(const KernelInit& init);

// All dtypes of values on a GPU: plain ones but int32.
inline const std::vector<DType> kGpuTypes = {
    DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8,      DType::kInt16,
    DType::kInt64,   DType::kUint8,   DType::kUint16,  DType::kUint32,   DType::kUint64,    DType::kBool,
    DType::kQint8,   DType::kQuint8,  DType::kQint16,  DType::kQuint16,  DType::kComplex64, DType::kComplex128};

}  // namespace argosy::cuda
