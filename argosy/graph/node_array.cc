#include "argosy/graph/node_array.h"

#include <memory>
#include <new>
#include <utility>

#include "argosy/base/memory/huge_pages.h"

namespace argosy {

NodeArray::NodeArray(const NodeArray& other) {
  reserve(other.size_);
  for (const Node& node : other) push_back(node);
}

NodeArray& NodeArray::operator=(const NodeArray& other) {
  if (this != &other) *this = NodeArray(other);
  return *this;
}

NodeArray& NodeArray::operator=(NodeArray&& other) noexcept {
  NodeArray taken(std::move(other));
  swap(taken);
  return *this;
}

NodeArray::~NodeArray() {
  truncate(0);
  for (Node* const block : blocks_) ::operator delete(block);
}

void NodeArray::swap(NodeArray& other) noexcept {
  blocks_.swap(other.blocks_);
  std::swap(size_, other.size_);
}

Node& NodeArray::push_back(Node node) {
  reserve(size_ + 1);
  Node* const made = std::construct_at(at(size_), std::move(node));
  ++size_;
  return *made;
}

void NodeArray::truncate(std::size_t size) {
  for (std::size_t i = size; i < size_; ++i) std::destroy_at(at(i));
  size_ = size;
}

void NodeArray::reserve(std::size_t size) {
  if (size == 0) return;
  for (int b = block_of(size - 1); b >= 0; --b) {
    Node*& block = blocks_[static_cast<std::size_t>(b)];
    if (block != nullptr) return;  // and so are those before it
    const std::size_t bytes = (kFirst << b) * sizeof(Node);
    block = static_cast<Node*>(::operator new(bytes));
    prefer_huge_pages(block, bytes);
  }
}

}  // namespace argosy
