// Huge pages for large tables. A table that is read once in each pass costs as much for its page lookups as for its
// data, and several times that on virtual machines. The same holds for its first touch.
#pragma once

#include <cstddef>
#include <vector>

namespace argosy {

// Asks the system to back these bytes, not yet touched, with huge pages. A hint: ranges below a few megabytes, and
// ranges that the system refuses, stay as they are. The memory may come from any allocator, which frees it as usual.
void prefer_huge_pages(void* data, std::size_t bytes);

// vector::reserve() with that hint.
template <typename T>
void reserve_large(std::vector<T>& table, std::size_t size) {
  if (size <= table.capacity()) return;
  table.reserve(size);
  prefer_huge_pages(table.data() + table.size(), (table.capacity() - table.size()) * sizeof(T));
}

// vector::assign() with that hint. REQUIRES: the vector is empty.
template <typename T>
void assign_large(std::vector<T>& table, std::size_t size, const T& value) {
  reserve_large(table, size);
  table.assign(size, value);
}

}  // namespace argosy
