// SmallVector: a vector that stores its first N elements inside the object. For lists that are nearly always short and
// very many: the inputs and outputs of graph nodes. The interface is std::vector's. Moving a vector moves its inline
// elements, so pointers to them become invalid. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace argosy {

template <typename T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  SmallVector() noexcept {}
  explicit SmallVector(std::size_t size, const T& value = T()) { resize(size, value); }
  template <std::forward_iterator It>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  // NOLINTBEGIN(google-explicit-constructor): call sites pass lists of either kind on
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  SmallVector(const std::vector<T>& values) { assign(values.begin(), values.end()); }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }
  // NOLINTEND
  SmallVector(const SmallVector& other) { assign(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return capacity_; }
  T* data() { return in_line() ? reinterpret_cast<T*>(storage_.bytes) : storage_.heap; }
  const T* data() const { return in_line() ? reinterpret_cast<const T*>(storage_.bytes) : storage_.heap; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ < capacity_) {
      T* const made = std::construct_at(end(), std::forward<Args>(args)...);
      ++size_;
      return *made;
    }
    T value(std::forward<Args>(args)...);  // which may be made of an element that moves
    grow(std::size_t{capacity_} * 2);
    T* const made = std::construct_at(end(), std::move(value));
    ++size_;
    return *made;
  }
  void pop_back() { std::destroy_at(data() + --size_); }
  void resize(std::size_t size, const T& value = T()) {
    reserve(size);
    if (size < size_) std::destroy(begin() + size, end());
    if (size > size_) std::uninitialized_fill(end(), begin() + size, value);
    size_ = static_cast<std::uint32_t>(size);
  }
  void assign(std::size_t size, const T& value) {
    clear();
    resize(size, value);
  }
  // REQUIRES: elements of another container.
  template <std::forward_iterator It>
  void assign(It first, It last) {
    clear();
    const auto size = static_cast<std::size_t>(std::distance(first, last));
    reserve(size);
    std::uninitialized_copy(first, last, begin());
    size_ = static_cast<std::uint32_t>(size);
  }
  T* insert(const T* at, T value) {
    const std::ptrdiff_t where = at - begin();
    push_back(std::move(value));
    std::rotate(begin() + where, end() - 1, end());
    return begin() + where;
  }
  // REQUIRES: elements of another container.
  template <std::forward_iterator It>
  T* insert(const T* at, It first, It last) {
    const std::ptrdiff_t where = at - begin();
    const auto before = static_cast<std::ptrdiff_t>(size_);
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
    std::rotate(begin() + where, begin() + before, end());
    return begin() + where;
  }
  T* erase(const T* first, const T* last) {
    T* const from = begin() + (first - begin());
    T* const rest = std::move(from + (last - first), end(), from);
    std::destroy(rest, end());
    size_ = static_cast<std::uint32_t>(rest - begin());
    return from;
  }
  T* erase(const T* at) { return erase(at, at + 1); }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool in_line() const { return capacity_ == N; }
  void release() {
    std::destroy(begin(), end());
    if (!in_line()) std::allocator<T>().deallocate(storage_.heap, capacity_);
    size_ = 0;
    capacity_ = N;
  }
  // REQUIRES: this one is empty and in line.
  void take(SmallVector& other) noexcept {
    if (other.in_line()) {
      std::uninitialized_move(other.begin(), other.end(), reinterpret_cast<T*>(storage_.bytes));
      size_ = other.size_;
      other.clear();
      return;
    }
    storage_.heap = other.storage_.heap;
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
  }
  void grow(std::size_t least) {
    const std::size_t capacity = std::max<std::size_t>(least, N + 1);
    T* const heap = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), heap);
    std::destroy(begin(), end());
    if (!in_line()) std::allocator<T>().deallocate(storage_.heap, capacity_);
    storage_.heap = heap;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;  // N: in line
  union Storage {
    Storage() {}
    T* heap;
    alignas(T) std::byte bytes[N * sizeof(T)];
  } storage_;
};

// As std::erase and std::erase_if: how many went.
template <typename T, std::size_t N, typename Predicate>
std::size_t erase_if(SmallVector<T, N>& list, Predicate predicate) {
  T* const rest = std::remove_if(list.begin(), list.end(), predicate);
  const auto gone = static_cast<std::size_t>(list.end() - rest);
  list.erase(rest, list.end());
  return gone;
}
template <typename T, std::size_t N>
std::size_t erase(SmallVector<T, N>& list, const T& value) {
  return erase_if(list, [&](const T& element) { return element == value; });
}

}  // namespace argosy
