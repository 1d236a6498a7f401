// Shape: the sizes of a tensor, all known. PartialShape: the sizes as far as they are known before a step runs. Sizes
// are int64 and never negative in a Shape. Shape::make() checks sizes from outside, the product of them included. Value
// types; short ones live inline.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/base/status.h"

namespace argosy {

class Shape {
 public:
  static constexpr int kMaxRank = 254;  // TensorFlow's

  Shape() = default;  // a scalar
  // REQUIRES: sizes >= 0 and a product below 2^63. Use make() for sizes from a user, a file or a feed.
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  // REQUIRES: sizes are not negative and their product fits 63 bits.
  explicit Shape(std::span<const std::int64_t> sizes);
  // INVALID_ARGUMENT where a size is negative or the product is too large.
  static Result<Shape> make(std::span<const std::int64_t> sizes);

  Shape(const Shape& other) { *this = other; }  // Copies the sizes.
  Shape(Shape&& other) noexcept = default;
  Shape& operator=(const Shape& other);  // Copies the sizes.
  Shape& operator=(Shape&& other) noexcept = default;
  ~Shape() = default;

  int rank() const { return rank_; }                                // number of axes
  std::int64_t operator[](int axis) const { return data()[axis]; }  // REQUIRES: 0 <= axis < rank()
  // Valid as long as the shape.
  std::span<const std::int64_t> sizes() const { return {data(), static_cast<std::size_t>(rank_)}; }
  std::int64_t elements() const { return elements_; }      // the product of the sizes; 1 of a scalar
  std::int64_t back() const { return data()[rank_ - 1]; }  // the size of the last axis; REQUIRES: rank() > 0

  // Copies with one size replaced / added / removed. REQUIRES: axis in range.
  Shape with(int axis, std::int64_t size) const;
  Shape inserted(int axis, std::int64_t size) const;  // with one axis more, before `axis`
  Shape removed(int axis) const;                      // without `axis`

  // Row-major strides, in elements.
  std::vector<std::int64_t> strides() const;

  std::string to_string() const;              // "[2,3]"
  bool operator==(const Shape& other) const;  // the same sizes

 private:
  static constexpr int kInline = 6;
  const std::int64_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
  std::int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  void assign(std::span<const std::int64_t> sizes);

  std::array<std::int64_t, kInline> inline_{};
  std::unique_ptr<std::int64_t[]> heap_;  // used if there are more than kInline axes
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

// A rank and sizes, each possibly unknown. A graph has one for each value.
class PartialShape {
 public:
  static constexpr std::int64_t kUnknown = -1;  // a size that is not known

  PartialShape() = default;                    // nothing known, not even the rank
  using Sizes = SmallVector<std::int64_t, 4>;  // kUnknown where a size is not known
  // All sizes known.
  PartialShape(const Shape& shape);  // NOLINT(google-explicit-constructor): every Shape is one
  // kUnknown where a size is not known.
  PartialShape(std::initializer_list<std::int64_t> sizes) : known_rank_(true), sizes_(sizes) {}
  // kUnknown where a size is not known.
  explicit PartialShape(Sizes sizes) : known_rank_(true), sizes_(std::move(sizes)) {}
  static PartialShape unknown() { return {}; }  // not even the rank
  // This rank, with all sizes unknown.
  static PartialShape unknown_of_rank(int rank) {
    return PartialShape(Sizes(static_cast<std::size_t>(rank), kUnknown));
  }
  static PartialShape scalar() { return PartialShape(Sizes()); }  // rank 0

  bool has_rank() const { return known_rank_; }                                    // the rank is known
  int rank() const { return known_rank_ ? static_cast<int>(sizes_.size()) : -1; }  // -1 where it is not known
  std::int64_t operator[](int axis) const { return sizes_[axis]; }  // REQUIRES: has_rank(); kUnknown where unknown
  const Sizes& sizes() const { return sizes_; }                     // REQUIRES: has_rank()
  bool is_full() const;                                             // rank and sizes are known, and form a valid Shape
  Result<Shape> full() const;                                       // an error unless is_full()
  std::int64_t elements() const;                                    // kUnknown unless is_full()

  bool compatible(const PartialShape& other) const;  // some Shape satisfies both
  // The shape that satisfies both; an error when they contradict each other.
  Result<PartialShape> merge(const PartialShape& other) const;

  std::string to_string() const;  // "[?,3]", "<unknown>"
  bool operator==(const PartialShape& other) const = default;

 private:
  bool known_rank_ = false;
  Sizes sizes_;
};

// Broadcasts two shapes by the rules of NumPy and TensorFlow; an error names both.
Result<Shape> broadcast(const Shape& a, const Shape& b);
// The same for partial shapes. INVALID_ARGUMENT: they cannot be broadcast.
Result<PartialShape> broadcast(const PartialShape& a, const PartialShape& b);

// Checks -rank <= axis < rank and returns the axis from the front. An error names op and rank.
Result<int> normalize_axis(std::int64_t axis, int rank, std::string_view op);

}  // namespace argosy
