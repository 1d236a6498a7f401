// The one loop behind every op that only moves elements: a copy between two strided views. Transpose, Slice, Concat,
// Pad, Tile, Reverse and space-to-depth differ in the strides they hand over.
#pragma once

#include "argosy/tensor/ints.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Axis k holds sizes[k] elements, to[k] apart where they go and from[k] apart where they come from (in elements).
// `from` may be 0 (repeat) or negative (reverse); elements of `to` are distinct.
struct Region {
  Ints sizes, to, from;
  void add(std::int64_t size, std::int64_t to_stride, std::int64_t from_stride) {
    sizes.push_back(size);
    to.push_back(to_stride);
    from.push_back(from_stride);
  }
};

// to[to_offset + sum i_k to_k] = from[from_offset + sum i_k from_k] for all 0 <= i_k < sizes_k, on the calling thread's
// team. Any dtype, strings and handles too.
// REQUIRES: one dtype, both regions inside their tensors, which do not overlap.
void copy_region(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                 const Region& region);

// The same as a plain loop, element by element: what the reference kernels use.
void copy_region_plainly(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                         const Region& region);

// Either of the two, as a template argument: kernels exist in both forms.
using Copy = void (*)(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                      const Region& region);

// Every element becomes *value, an element of the tensor's dtype; or zero (an empty string, an empty handle).
void fill_elements(const Tensor& to, const void* value);
void fill_zeros(const Tensor& to);

// `elements` neighbours from one tensor to another: memcpy, or object by object for strings and handles.
void copy_span(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
               std::int64_t elements);

// Copies elements where host code may not touch their memory (a real GPU's). While a Scope lasts, what its thread calls
// above goes through its copy engine, for tensors of plain dtypes: so the kernels of ops that only move elements serve GPUs
// too (argosy/ops/layout/layout_cuda.cc). Errors are the copy engine's to keep.
class CopyEngine {
 public:
  virtual ~CopyEngine() = default;
  // Elements of `bytes` bytes; `to` and `from` are where the regions start.
  virtual void move(void* to, const void* from, std::size_t bytes, const Region& region) = 0;
  // `elements` times *value, which lies in the host's memory.
  virtual void fill(void* to, std::int64_t elements, std::size_t bytes, const void* value) = 0;
  // to[i] = a[i] + b[i], of numbers of this dtype; false: it does not add such, and nothing was done.
  virtual bool add(void* to, const void* a, const void* b, std::int64_t elements, DType dtype);

  // Who moves for this thread now; null: the host.
  static CopyEngine* in_scope();
  class Scope {
   public:
    explicit Scope(CopyEngine& copy_engine);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CopyEngine* const outer_;
  };
};

// Runs fn.template operator()<T>() with a type that moves like the dtype's elements: an unsigned integer of its size,
// or the object itself for strings and handles. fn returns nothing.
template <typename Fn>
void dispatch_moved(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kString: return fn.template operator()<std::string>();
    case DType::kResource: return fn.template operator()<ResourceHandle>();
    case DType::kVariant: return fn.template operator()<Variant>();
    default: break;
  }
  switch (element_bytes(dtype)) {
    case 1: return fn.template operator()<std::uint8_t>();
    case 2: return fn.template operator()<std::uint16_t>();
    case 4: return fn.template operator()<std::uint32_t>();
    case 8: return fn.template operator()<std::uint64_t>();
    case 16: return fn.template operator()<Bytes16>();
    default: ARGOSY_CHECK(false);
  }
}

}  // namespace argosy
