// The copy between two strided views, behind every op that only moves elements. Transpose, Slice, Concat, Pad, Tile,
// Reverse and space-to-depth differ only in strides.
#pragma once

#include "argosy/tensor/ints.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Axis k has sizes[k] elements; neighbours are to[k] elements apart at the destination, and from[k] at the source.
// `from` may be 0 (repeat) or negative (reverse). Elements of the destination are distinct.
struct Region {
  Ints sizes, to, from;
  void add(std::int64_t size, std::int64_t to_stride, std::int64_t from_stride) {
    sizes.push_back(size);
    to.push_back(to_stride);
    from.push_back(from_stride);
  }
};

// Copies to[to_offset + sum i_k to_k] = from[from_offset + sum i_k from_k] for all 0 <= i_k < sizes_k, on the calling
// thread's team. Any dtype, strings and handles too.
// REQUIRES: one dtype; both regions are inside their tensors, which do not overlap.
void copy_region(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                 const Region& region);

// The same as a plain loop, element by element, for the reference kernels.
void copy_region_plainly(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                         const Region& region);

// Either of the two, as a template argument of kernels.
using Copy = void (*)(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                      const Region& region);

// Sets every element to *value, an element of the tensor's dtype; or to zero (an empty string, an empty handle).
void fill_elements(const Tensor& to, const void* value);
void fill_zeros(const Tensor& to);

// Copies `elements` contiguous elements: by memcpy, or one by one for strings and handles.
void copy_span(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
               std::int64_t elements);

// Copies elements in memory that host code may not access (a real GPU's). While a Scope exists, the calls above on its
// thread use its copy engine, for tensors of plain dtypes. So the kernels of ops that only move elements serve GPUs,
// too (argosy/ops/layout/layout_cuda.cc). A copy engine keeps its errors.
class CopyEngine {
 public:
  virtual ~CopyEngine() = default;
  // Copies a region of elements of `bytes` bytes; `to` and `from` are the starts of both views.
  virtual void move(void* to, const void* from, std::size_t bytes, const Region& region) = 0;
  // Writes *value, in host memory, `elements` times.
  virtual void fill(void* to, std::int64_t elements, std::size_t bytes, const void* value) = 0;
  // to[i] = a[i] + b[i], numbers of this dtype. Returns false, and does nothing, if it cannot add them.
  virtual bool add(void* to, const void* a, const void* b, std::int64_t elements, DType dtype);

  // The copy engine of this thread; null: the host copies.
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

// Calls fn.template operator()<T>() with a type that can be copied as the dtype's elements: an unsigned integer of
// their size, or the object itself for strings and handles. fn returns nothing.
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
