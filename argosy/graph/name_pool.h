// NamePool: the texts of a graph's names, one after the other in large blocks: a graph of a million nodes has no
// string of its own for each, and reads its names in order. Texts stay where they are until the pool goes.
// Name: one of them. Not thread-safe; who holds the pool may read names while another adds some.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace argosy {

// A text in a pool, or "": copied as a view, and no longer lived than the pool. Becomes a string where one is wanted.
class Name : public std::string_view {
 public:
  Name() = default;
  operator std::string() const { return std::string(data(), size()); }  // NOLINT(google-explicit-constructor)

 private:
  friend class NamePool;
  explicit Name(std::string_view text) : std::string_view(text) {}
};

class NamePool {
 public:
  Name add(std::string_view text);
  // Names of another pool, and what that keeps, stay as long as this one.
  void retain(const std::shared_ptr<const NamePool>& other);

 private:
  std::vector<std::shared_ptr<const NamePool>> kept_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;   // in the last block
  std::size_t left_ = 0;   // behind it
  std::size_t next_ = 64;  // the size of the next block
};

}  // namespace argosy
