// Where the elements of lists, arrays and stacks lie: where the kernel that put them there had them, a GPU's memory
// among others. Who reads them elsewhere gets a copy. The kernels are the same for all devices: they move elements, and
// compute only sums.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

struct Element {
  Tensor value;               // invalid: there is none yet
  Allocator* home = nullptr;  // of the memory it is in; it outlives every list
  bool valid() const { return value.valid(); }
};

// RESOURCE_EXHAUSTED where a list or an array of so many places would take more than the cap of the host's memory,
// where the places lie. The number of places comes from a graph.
Status room_for_places(const KernelContext& c, std::int64_t count, std::size_t bytes_each);
// For what the host computes and `wanted` is to hold: that, where the host can write it, else the host's memory.
Allocator& written_by_host(Allocator& wanted);
// The memory in which this kernel's device wants elements of this dtype.
Allocator& element_memory(const KernelContext& c, DType dtype);
// A tensor of this kernel's that outlives the step's memory: itself, or a copy on the device.
Result<Element> kept_element(const KernelContext& c, const Tensor& t);
// The element where this kernel can work with it; from another memory waits for that one's device.
Result<Tensor> brought(const KernelContext& c, const Element& element);
// The element in the host's memory; waits for its device.
Result<Tensor> on_host(const Element& element);
// A tensor of the host's memory where this kernel's device wants it.
Result<Tensor> sent(const KernelContext& c, const Tensor& here);
Result<Tensor> zero_element(const KernelContext& c, DType dtype, const Shape& shape);
// a + b, of one dtype and shape. The sum is made in `wanted`, where both are there and that device's `copy_engine` (may
// be null) adds such numbers; else the host adds, in its own memory.
Result<Element> sum_of(const Element& a, const Element& b, Allocator& wanted, CopyEngine* copy_engine);
// Output i is this tensor, which is in element_memory().
Status give_element(KernelContext& c, int i, Tensor value);
// All elements of `from` to the same places of `to`; both in element_memory().
Status copy_element(const KernelContext& c, const Tensor& to, const Tensor& from);

}  // namespace argosy
