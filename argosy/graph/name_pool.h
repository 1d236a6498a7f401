// NamePool: the texts of a graph's names, in large blocks. A graph of a million nodes has no string of its own for each,
// and reads its names in order. A text stays where it is as long as the pool. Name: one of these texts.
//
// Not thread-safe. A reader of names may go on while a holder of the pool adds some.
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
