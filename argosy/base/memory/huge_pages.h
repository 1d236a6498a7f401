// Large tables on huge pages. What is read once per pass, table after table, costs as much by looking up its pages as
// by reading it, and on virtual machines several times that; so does touching it for the first time.
#pragma once

#include <cstddef>
#include <vector>

namespace argosy {

// Asks the system to back these bytes, not yet touched, by huge pages. A hint: what is smaller than a few megabytes,
// and what the system refuses, stays as it is. The memory may come from anywhere and is freed as ever.
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
