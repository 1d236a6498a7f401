// GpuSlots: slices of a tensor on a GPU, found by indices. Gathers, scatters, segment sums and sparse updates share
// them. A slot holds the start of a slice, and the number of the next slot of the same slice. So one thread can apply
// all updates of an element in order, and results are the same every time.
#pragma once

#include "argosy/ops/gather/slots_cuda.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/tensor/ints.h"

namespace argosy::cuda {

// How indices select slices of a tensor: a path of `sizes.size()` indices selects a slice of `slice` elements.
struct SlotPaths {
  Ints sizes;
  std::int64_t slice = 1;
  Ints strides = {};      // of each index, in elements; empty: those of `sizes` in row-major order
  bool skip_bad = false;  // ignore a path out of bounds; else an error, if the host can see it
};
// Paths of one index, which select rows of `tensor` (rank >= 1).
SlotPaths paths_to_rows(const Shape& tensor);

class GpuSlots {
 public:
  // Makes the slots of input `indices`. int32 indices are in host memory and are checked there: INVALID_ARGUMENT with
  // the index that is out of bounds. int64 indices are on the GPU, where a path out of bounds is ignored. `linked`:
  // sets `next` and `first`.
  static Result<GpuSlots> of(KernelContext& c, std::string_view op, int indices, const SlotPaths& paths, bool linked);
  // Makes slots from starts that the host knows, in their order.
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

// to[i] = the slice of slot i in `from`; zeros if the slot names none.
Status gather_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const void* from, void* to);

struct SliceUpdate {
  std::string_view how;    // "Update" of any dtype; "Add", "Sub", "Mul", "Div", "Min", "Max", "Mean" of kSliceNumbers
  bool one_value = false;  // `from` is one element, for all slices
  bool fresh = false;      // the first update of a slice replaces its old elements
};
// Updates slices of `to` by `from`, slot by slot in order. Sums of float32 and float64 are in any order if the indices
// are on the GPU, not `fresh`, and determinism is not asked for. REQUIRES: linked slots.
Status update_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const SliceUpdate& update, const void* from,
                     void* to);
inline const std::vector<DType> kSliceNumbers = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                                                 DType::kInt64};

}  // namespace argosy::cuda
