// NamePool: the storage of a graph's names, in large blocks. It avoids a string object for each of a million nodes, and
// names of neighbouring nodes are neighbours in memory. Addresses are stable while the pool lives. Name: a view of a
// name.
//
// Not thread-safe. Other threads may read existing names while the owner adds new ones.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace argosy {

// A text in a pool, or "". Copied as a view; valid as long as the pool. Converts to a string.
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
  // Shares ownership of another pool (and of the pools that it keeps), so that its names live as long as this pool.
  void retain(const std::shared_ptr<const NamePool>& other);

 private:
  std::vector<std::shared_ptr<const NamePool>> kept_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;   // the free part of the last block
  std::size_t left_ = 0;   // bytes in it
  std::size_t next_ = 64;  // the size of the next block
};

}  // namespace argosy
