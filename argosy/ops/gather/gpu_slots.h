// Slices of a tensor on a GPU, by indices: gathers, scatters, sums by segment and sparse updates share them. A slot
// says where a slice starts, and which later slot names the same slice. So one thread can take all updates of an
// element in their order, and results are the same every time.
#pragma once

#include "argosy/ops/gather/slots_cuda.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/tensor/ints.h"

namespace argosy::cuda {

// How indices lead into a tensor: paths of `sizes.size()` indices, the last of which name slices of `slice` elements.
struct SlotPaths {
  Ints sizes;
  std::int64_t slice = 1;
  Ints strides = {};      // of each index, in elements; empty: those of `sizes` in row-major order
  bool skip_bad = false;  // a path that leads outside is left out; else an error where the host can see it
};
// The rows of `tensor` (rank >= 1), one index each.
SlotPaths paths_to_rows(const Shape& tensor);

class GpuSlots {
 public:
  // Of input `indices`, int32 (in the host's memory, looked at there) or int64 (on the GPU, where a path that leads
  // outside is left out). `linked`: are `next` and `first` wanted? INVALID_ARGUMENT with the index that leads outside.
  static Result<GpuSlots> of(KernelContext& c, std::string_view op, int indices, const SlotPaths& paths, bool linked);
  // Of starts known here: rows in the order of `starts`.
  static Result<GpuSlots> at(KernelContext& c, std::span<const std::int64_t> starts, std::int64_t slice);

  std::int64_t count() const { return count_; }
  std::int64_t slice() const { return slice_; }
  const void* data() const { return memory_.data(); }
  bool on_host() const { return on_host_; }

 private:
  Buffer memory_;
  std::int64_t count_ = 0, slice_ = 1;
  bool on_host_ = false;
};

// to[i] = the slice of slot i in `from`; zeros where there is none.
Status gather_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const void* from, void* to);

struct SliceUpdate {
  std::string_view how;    // "Update" of any dtype; "Add", "Sub", "Mul", "Div", "Min", "Max", "Mean" of kSliceNumbers
  bool one_value = false;  // one element for all slices
  bool fresh = false;      // the first update of a slice replaces what was there
};
// Slices of `to` updated by `from`, slot by slot in order; sums of float32 and float64 in any order where indices are
// the GPU's and determinism is not asked for. REQUIRES: linked slots.
Status update_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const SliceUpdate& update, const void* from,
                     void* to);
inline const std::vector<DType> kSliceNumbers = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                                                 DType::kInt64};

}  // namespace argosy::cuda
