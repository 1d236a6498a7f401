// NodeArray: the nodes of a graph, by position. Not thread-safe.
//
// Nodes lie in blocks; each block is twice as large as the one before it. A node never moves while others are added, so
// a reference to it stays valid. Reading in order costs as much as reading one array.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "argosy/graph/node.h"

namespace argosy {

class NodeArray {
 public:
  NodeArray() = default;
  NodeArray(const NodeArray& other);
  NodeArray(NodeArray&& other) noexcept { swap(other); }
  NodeArray& operator=(const NodeArray& other);
  NodeArray& operator=(NodeArray&& other) noexcept;
  ~NodeArray();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Node& operator[](std::size_t i) { return *at(i); }
  const Node& operator[](std::size_t i) const { return *at(i); }
  Node& back() { return *at(size_ - 1); }
  const Node& back() const { return *at(size_ - 1); }

  // See Graph::prefetch().
  void prefetch(std::size_t i) const {
    const char* const node = reinterpret_cast<const char*>(at(i));
    for (std::size_t line = 0; line < sizeof(Node); line += 64) __builtin_prefetch(node + line);
  }

  Node& push_back(Node node);
  void pop_back() { truncate(size_ - 1); }
  // Removes all nodes from this position on.
  void truncate(std::size_t size);
  void reserve(std::size_t size);

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Node;
    using difference_type = std::ptrdiff_t;
    using pointer = const Node*;
    using reference = const Node&;

    Iterator() = default;
    Iterator(const NodeArray* nodes, std::size_t at) : nodes_(nodes), at_(at) {}
    reference operator*() const { return (*nodes_)[at_]; }
    pointer operator->() const { return &(*nodes_)[at_]; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      at_ += static_cast<std::size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const NodeArray* nodes_ = nullptr;
    std::size_t at_ = 0;
  };
  using value_type = Node;
  using const_iterator = Iterator;
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  static constexpr std::size_t kFirst = 16;  // nodes in the first block
  static constexpr int kBlocks = 28;         // enough for 2^31 nodes
  // The highest bit of (i + kFirst) gives the block.
  static int block_of(std::size_t i) { return std::bit_width((i + kFirst) / kFirst) - 1; }
  Node* at(std::size_t i) const {
    const int block = block_of(i);
    return blocks_[static_cast<std::size_t>(block)] + (i + kFirst - (kFirst << block));
  }
  void swap(NodeArray& other) noexcept;

  std::array<Node*, kBlocks> blocks_{};  // null: not there yet
  std::size_t size_ = 0;
};

}  // namespace argosy
