// TableRows: the rows of a table, a value by its encoded key (TableOptions::encoded). Not thread-safe; it may be copied.
// Internal to the table family.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/ops/table/table_options.h"

namespace argosy {

class TableRows {
 public:
  explicit TableRows(const TableOptions& options) : options_(&options) {}  // which outlive it

  std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
  // By row: encoded keys.
  const std::vector<std::string>& keys() const { return keys_; }
  // The row of an encoded key; -1: there is none.
  std::int64_t find(const std::string& key) const;

  // Key and value `i` of these tensors. A key that is there gets the new value.
  void put(const Tensor& keys, const Tensor& values, std::int64_t i);
  // The last row takes the place of the one that goes. `spare`: room for one value.
  void remove(const std::string& key, const Tensor& spare);
  // Row `row` and element `i` of a tensor of values: are they equal; the row copied there.
  bool same_value(std::int64_t row, const Tensor& values, std::int64_t i) const;
  void copy_value(std::int64_t row, const Tensor& to, std::int64_t i) const;

 private:
  void set_value(std::int64_t row, const Tensor& values, std::int64_t i);
  void resize_values(std::int64_t rows);

  const TableOptions* options_;
  std::unordered_map<std::string, std::int64_t> index_;  // encoded key -> row
  std::vector<std::string> keys_;                        // by row
  // Values one after another; of plain elements as bytes, else as strings.
  std::vector<char> bytes_;
  std::vector<std::string> strings_;
};

}  // namespace argosy
