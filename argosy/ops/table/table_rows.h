// TableRows: the entries of a table: encoded keys (TableOptions::encoded) and their values, by row. Copyable. Not
// thread-safe. Internal to the table family.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/ops/table/table_options.h"

namespace argosy {

class TableRows {
 public:
  explicit TableRows(const TableOptions& options) : options_(&options) {}  // `options` must outlive this

  std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
  // The encoded keys, by row.
  const std::vector<std::string>& keys() const { return keys_; }
  // The row of an encoded key; -1: there is none.
  std::int64_t find(const std::string& key) const;

  // Inserts key and value `i` of these tensors. If the key exists, its value is replaced.
  void put(const Tensor& keys, const Tensor& values, std::int64_t i);
  // Removes the key's row, if there is one; the last row moves into its place. `spare`: scratch memory for one value.
  void remove(const std::string& key, const Tensor& spare);
  // Whether the value of row `row` equals element `i` of `values`; and a copy of it to element `i` of `to`.
  bool same_value(std::int64_t row, const Tensor& values, std::int64_t i) const;
  void copy_value(std::int64_t row, const Tensor& to, std::int64_t i) const;

 private:
  void set_value(std::int64_t row, const Tensor& values, std::int64_t i);
  void resize_values(std::int64_t rows);

  const TableOptions* options_;
  std::unordered_map<std::string, std::int64_t> index_;  // encoded key -> row
  std::vector<std::string> keys_;                        // by row
  // The values by row, concatenated: in `bytes_` for plain dtypes, in `strings_` for strings.
  std::vector<char> bytes_;
  std::vector<std::string> strings_;
};

}  // namespace argosy
