#include "argosy/tensor/shape.h"

#include <algorithm>

#include "argosy/base/checked.h"

namespace argosy {

Shape::Shape(std::span<const std::int64_t> sizes) { assign(sizes); }

void Shape::assign(std::span<const std::int64_t> sizes) {
  rank_ = static_cast<int>(sizes.size());
  heap_ = rank_ > kInline ? std::make_unique<std::int64_t[]>(sizes.size()) : nullptr;
  elements_ = 1;
  std::int64_t* to = data();
  for (int i = 0; i < rank_; ++i) {
    to[i] = sizes[i];
    elements_ *= sizes[i];
  }
}

Result<Shape> Shape::make(std::span<const std::int64_t> sizes) {
  if (sizes.size() > kMaxRank) return invalid_argument("a shape has ", sizes.size(), " axes; at most 254 are allowed");
  // Zero sizes do not excuse an overflow: later views of the same sizes would meet it.
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0)
      return invalid_argument("Dimension ", size, " must be >= 0: a shape has a negative size: [", str_join(sizes, ","),
                              "]");
    if (size == 0) continue;
    const auto next = checked_mul(product, size);
    if (!next) return invalid_argument("a shape has 2^63 elements or more: [", str_join(sizes, ","), "]");
    product = *next;
  }
  return Shape(sizes);
}

Shape& Shape::operator=(const Shape& other) {
  if (this == &other) return *this;
  inline_ = other.inline_;
  rank_ = other.rank_;
  elements_ = other.elements_;
  heap_.reset();
  if (other.heap_) {
    heap_ = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(rank_));
    std::copy_n(other.heap_.get(), rank_, heap_.get());
  }
  return *this;
}

Shape Shape::with(int axis, std::int64_t size) const {
  std::vector<std::int64_t> sizes(data(), data() + rank_);
  sizes[axis] = size;
  return Shape(sizes);
}
Shape Shape::inserted(int axis, std::int64_t size) const {
  std::vector<std::int64_t> sizes(data(), data() + rank_);
  sizes.insert(sizes.begin() + axis, size);
  return Shape(sizes);
}
Shape Shape::removed(int axis) const {
  std::vector<std::int64_t> sizes(data(), data() + rank_);
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank_), 1);
  for (int i = rank_ - 2; i >= 0; --i) strides[i] = strides[i + 1] * data()[i + 1];
  return strides;
}

std::string Shape::to_string() const { return str_cat("[", str_join(sizes(), ","), "]"); }

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(data(), data() + rank_, other.data());
}

PartialShape::PartialShape(const Shape& shape)
    : known_rank_(true), sizes_(shape.sizes().begin(), shape.sizes().end()) {}

bool PartialShape::is_full() const {
  if (!known_rank_ || sizes_.size() > Shape::kMaxRank) return false;
  std::int64_t product = 1;  // as Shape::make() counts it
  for (const std::int64_t size : sizes_) {
    if (size < 0) return false;
    const auto next = checked_mul(product, std::max<std::int64_t>(size, 1));
    if (!next) return false;
    product = *next;
  }
  return true;
}

Result<Shape> PartialShape::full() const {
  if (!is_full()) return invalid_argument("shape ", to_string(), " is not fully known");
  return Shape::make(sizes_);
}

std::int64_t PartialShape::elements() const {
  if (!is_full()) return kUnknown;
  std::int64_t n = 1;
  for (const std::int64_t s : sizes_) {
    const auto next = checked_mul(n, s);
    if (!next) return kUnknown;
    n = *next;
  }
  return n;
}

bool PartialShape::compatible(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (sizes_.size() != other.sizes_.size()) return false;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] >= 0 && other.sizes_[i] >= 0 && sizes_[i] != other.sizes_[i]) return false;
  }
  return true;
}

Result<PartialShape> PartialShape::merge(const PartialShape& other) const {
  if (!compatible(other)) return invalid_argument("shapes ", to_string(), " and ", other.to_string(), " differ");
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  PartialShape merged = *this;
  for (std::size_t i = 0; i < sizes_.size(); ++i) merged.sizes_[i] = std::max(sizes_[i], other.sizes_[i]);
  return merged;
}

std::string PartialShape::to_string() const {
  if (!known_rank_) return "<unknown>";
  std::string text = "[";
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (i > 0) text += ",";
    text += sizes_[i] < 0 ? "?" : std::to_string(sizes_[i]);
  }
  return text + "]";
}

Result<PartialShape> broadcast(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::unknown();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape::Sizes sizes(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const std::int64_t sa = ia < 0 ? 1 : a[ia];
    const std::int64_t sb = ib < 0 ? 1 : b[ib];
    if (sa == 1) {
      sizes[i] = sb;
    } else if (sb == 1 || sa == sb) {
      sizes[i] = sa;
    } else if (sa < 0 || sb < 0) {
      // An unknown beside a size above 1 can only be that size or 1: the known one wins. Two unknowns stay unknown.
      sizes[i] = std::max(sa, sb);
    } else {
      return invalid_argument("Incompatible shapes: ", a.to_string(), " vs. ", b.to_string(), ": shapes ",
                              a.to_string(), " and ", b.to_string(), " do not broadcast: axis ", i, " is ", sa,
                              " against ", sb)
          .with_id("ARG-SHAPE-002");
    }
  }
  return PartialShape(std::move(sizes));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  if (a == b) return a;
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, broadcast(PartialShape(a), PartialShape(b)));
  return shape.full();
}

Result<int> normalize_axis(std::int64_t axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank) {
    return invalid_argument(op, ": axis ", axis, " is outside [", -rank, ", ", rank, ") for rank ", rank)
        .with_id("ARG-SHAPE-003");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace argosy
