// The memory that elements of tensor lists, tensor arrays and stacks are in. An element stays in the memory of the
// kernel that added it, for example a GPU's. A kernel on another device that reads it gets a copy. The kernels of these
// ops are the same for all devices: they move elements, and compute nothing but sums.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

struct Element {
  Tensor value;               // invalid: it was not set yet
  Allocator* home = nullptr;  // the allocator of its memory, which outlives every list; null: a memory of the host
  bool valid() const { return value.valid(); }
};

// RESOURCE_EXHAUSTED where the entries of a list or an array with `count` places would exceed the limit of the host's
// memory. `count` comes from a graph. Up to 4096 places are always allowed.
Status room_for_places(const KernelContext& c, std::int64_t count, std::size_t bytes_each);
// The memory for a result that the host computes: `wanted` where the host can write it, else the host's memory.
Allocator& written_by_host(Allocator& wanted);
// The memory in which this kernel's device wants elements of this dtype.
Allocator& element_memory(const KernelContext& c, DType dtype);
// A tensor of this kernel as an element that outlives the step: the tensor itself where it owns its memory, else a copy
// in element_memory().
Result<Element> kept_element(const KernelContext& c, const Tensor& t);
// The element in a memory that this kernel can use. A copy from another device's memory waits for that device.
Result<Tensor> brought(const KernelContext& c, const Element& element);
// The element in the host's memory. A copy from a device's memory waits for that device.
Result<Tensor> on_host(const Element& element);
// A tensor of the host's memory in element_memory(): itself, or a copy, which is waited for.
Result<Tensor> sent(const KernelContext& c, const Tensor& here);
Result<Tensor> zero_element(const KernelContext& c, DType dtype, const Shape& shape);
// Zeros like `t`, in written_by_host(wanted). A variant becomes its own zeros_like(), a string the empty one.
// REQUIRES: no handles.
Result<Tensor> zeros_of(const Tensor& t, Allocator& wanted);
// a + b, which have one dtype and shape. Where both are in `wanted`, a memory that the host cannot read, and its
// device's `copy_engine` (may be null) can add the dtype, the sum is made there. Else the host adds, into
// written_by_host(wanted). A variant is added to its like. INVALID_ARGUMENT: an empty one.
Result<Element> sum_of(const Element& a, const Element& b, Allocator& wanted, CopyEngine* copy_engine);
// Sets output i to a tensor that is in element_memory().
Status give_element(KernelContext& c, int i, Tensor value);
// Copies the data of `from` to `to`, of the same dtype and shape. Both are in element_memory().
Status copy_element(const KernelContext& c, const Tensor& to, const Tensor& from);

}  // namespace argosy
