// Tensor: a typed, shaped, contiguous (row-major) view of a Buffer. A copy is cheap and shares the memory. Not
// synchronised: a thread that writes through data() must be the only one that uses the memory.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "argosy/tensor/buffer.h"
#include "argosy/tensor/dtype.h"
#include "argosy/tensor/resource.h"
#include "argosy/tensor/shape.h"

namespace argosy {

class Tensor {
 public:
  Tensor() = default;  // no tensor: dtype kInvalid
  // REQUIRES: the buffer has room for the shape's elements.
  Tensor(DType dtype, Shape shape, Buffer buffer)
      : dtype_(dtype), shape_(std::move(shape)), buffer_(std::move(buffer)) {}

  // Uninitialised memory from `allocator`. Strings, resources and variants are default-constructed, in host memory.
  static Result<Tensor> allocate(DType dtype, Shape shape, Allocator& allocator);
  // In host memory, filled with zeros; aborts when the system has no memory left.
  static Tensor zeros(DType dtype, Shape shape);

  // A tensor of rank 0.
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }
  static Tensor scalar(const char* value);  // one string
  // A tensor of rank 1.
  template <typename T>
  static Tensor vector(std::initializer_list<T> values) {
    return of<T>({static_cast<std::int64_t>(values.size())}, std::span(values.begin(), values.size()));
  }
  // A tensor of rank 1.
  template <typename T>
  static Tensor vector(const std::vector<T>& values) {
    return of<T>({static_cast<std::int64_t>(values.size())}, std::span(values));
  }
  // REQUIRES: as many values as the shape has elements.
  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor t = zeros(dtype_of<T>(), std::move(shape));
    ARGOSY_CHECK(static_cast<std::int64_t>(values.size()) == t.elements());
    T* to = t.data<T>();
    for (const T& value : values) *to++ = value;
    return t;
  }
  // REQUIRES: as many values as the shape has elements.
  template <typename T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span(values.begin(), values.size()));
  }

  bool valid() const { return dtype_ != DType::kInvalid; }     // holds a value
  DType dtype() const { return dtype_; }                       // kInvalid where it is not valid()
  const Shape& shape() const { return shape_; }                // of the value
  std::int64_t elements() const { return shape_.elements(); }  // of the shape
  // Bytes of the elements. For strings: of the std::string objects, without their heap memory.
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * element_bytes(dtype_); }
  const Buffer& buffer() const { return buffer_; }  // shared with copies and views

  // REQUIRES: dtype() == dtype_of<T>(), checked.
  template <typename T>
  T* data() const {
    ARGOSY_CHECK(dtype_ == dtype_of<T>());
    return reinterpret_cast<T*>(buffer_.data());
  }
  // REQUIRES: T is the dtype's type, and the memory is the host's.
  template <typename T>
  std::span<T> values() const {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  // The address, without a check of the dtype.
  void* raw() const { return buffer_.data(); }
  // The same as a T*.
  template <typename T>
  T* raw_as() const {
    return reinterpret_cast<T*>(buffer_.data());
  }

  // The same elements in another shape. REQUIRES: the same number of elements.
  Tensor reshaped(Shape shape) const;
  // The same bytes as another dtype of the same size.
  Tensor bitcast(DType dtype) const { return Tensor(dtype, shape_, buffer_); }
  // Rows [begin, end) of the first axis, sharing memory. REQUIRES: rank >= 1, in range.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  // Returns this tensor if it owns its memory, else a copy in host memory.
  Tensor owned() const;
  // A deep copy in host memory.
  Tensor clone() const;
  // True when no other tensor shares the memory: it may be overwritten.
  bool unique() const { return buffer_.unique(); }

  // "float[2,3] [[1 2 3] …": at most `limit` values.
  std::string to_string(int limit = 6) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  Buffer buffer_;
};

// Copies the elements between two host-readable tensors. REQUIRES: equal dtype and number of elements.
void copy_elements(const Tensor& to, const Tensor& from);

// Reads a rank-0 or rank-1 int32/int64 tensor: axes, shapes, sizes. An error names `what`.
Result<std::vector<std::int64_t>> to_int64s(const Tensor& t, std::string_view what);
// The number of a scalar of an integer dtype; `what` names it in errors.
Result<std::int64_t> to_int64(const Tensor& t, std::string_view what);
// Reads such a tensor as a shape: sizes >= 0, no overflow.
Result<Shape> to_shape(const Tensor& t, std::string_view what);

}  // namespace argosy
