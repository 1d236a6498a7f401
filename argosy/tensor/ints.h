// Ints: a short list of int64 (axes, sizes, strides). Up to kInline numbers live inside the object, so a kernel that
// reads a shape-like tensor allocates nothing. A value type.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class Ints {
 public:
  Ints() = default;
  Ints(std::initializer_list<std::int64_t> values) { append(std::span(values.begin(), values.size())); }
  explicit Ints(std::span<const std::int64_t> values) { append(values); }
  // `size` copies of `value`. REQUIRES: size >= 0.
  static Ints filled(int size, std::int64_t value) {
    Ints made;
    made.reserve(size);
    std::fill_n(made.data(), size, value);
    made.size_ = size;
    return made;
  }

  Ints(const Ints& other) { append(other.span()); }
  Ints(Ints&&) noexcept = default;
  Ints& operator=(const Ints& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other.span());
    return *this;
  }
  Ints& operator=(Ints&&) noexcept = default;
  ~Ints() = default;

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  const std::int64_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
  std::int64_t& operator[](int i) { return data()[i]; }
  std::int64_t operator[](int i) const { return data()[i]; }
  std::int64_t back() const { return data()[size_ - 1]; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  std::span<const std::int64_t> span() const { return {data(), static_cast<std::size_t>(size_)}; }

  void push_back(std::int64_t value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    data()[size_++] = value;
  }
  void append(std::span<const std::int64_t> values) {
    reserve(size_ + static_cast<int>(values.size()));
    std::copy(values.begin(), values.end(), data() + size_);
    size_ += static_cast<int>(values.size());
  }
  void pop_back() { --size_; }
  bool operator==(const Ints& other) const { return *this == other.span(); }
  bool operator==(std::span<const std::int64_t> other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }
  std::string to_string() const { return str_cat("[", str_join(span(), ","), "]"); }

 private:
  static constexpr int kInline = 8;
  void reserve(int capacity) {
    if (capacity <= capacity_) return;
    auto grown = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(capacity));
    std::copy_n(data(), size_, grown.get());
    heap_ = std::move(grown);
    capacity_ = capacity;
  }

  std::array<std::int64_t, kInline> inline_;  // written before it is read: no need to clear it
  std::unique_ptr<std::int64_t[]> heap_;      // in use above kInline numbers
  int size_ = 0;
  int capacity_ = kInline;
};

// Reads a rank-0 or rank-1 tensor of int8, int16, int32 or int64. An error names `what`.
Result<Ints> read_ints(const Tensor& t, std::string_view what);
// Reads the only number of such a tensor.
Result<std::int64_t> read_int(const Tensor& t, std::string_view what);
// Row-major strides of these sizes, in elements.
Ints row_major(std::span<const std::int64_t> sizes);

}  // namespace argosy
