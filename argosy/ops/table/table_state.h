// Table: the resource behind a table's handle: values by key. Thread-safe. Internal to the table family.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/state/restorable.h"
#include "argosy/ops/table/table_rows.h"

namespace argosy {

class Table final : public Resource, public Restorable {
 public:
  explicit Table(TableOptions options) : options_(std::move(options)), rows_(options_) {}
  std::string describe() const override;
  const TableOptions& options() const { return options_; }

  // The values of `keys`; for keys that do not exist `missing`: one value, or one per key (fixed tables: its first).
  Result<Tensor> find(const Tensor& keys, const Tensor& missing, Allocator& memory) const;
  Status insert(const Tensor& keys, const Tensor& values);
  Status remove(const Tensor& keys);
  // Replaces all entries by these; for a fixed table as initialize().
  Status import_all(const Tensor& keys, const Tensor& values);
  // Fills a fixed table. A second call with as many rows changes nothing, and is no error.
  Status initialize(const Tensor& keys, const Tensor& values);
  Result<std::pair<Tensor, Tensor>> export_all(Allocator& memory) const;
  std::int64_t size() const;

  Result<std::function<Status()>> snapshot() const override;
  // Keys and values in turn, in the order of the encoded keys.
  Result<std::vector<Tensor>> contents() const override;

 private:
  const TableOptions options_;
  mutable Mutex mutex_;
  TableRows rows_ ARGOSY_GUARDED_BY(mutex_);
  bool filled_ ARGOSY_GUARDED_BY(mutex_) = false;
};

// How a text file, with a key and a value per line, is read.
struct TextTable {
  static constexpr std::int64_t kLine = -2;    // instead of a column: the whole line
  static constexpr std::int64_t kNumber = -1;  // instead of a column: the line's number, from 0
  std::int64_t key_column = 0, value_column = 0;
  std::int64_t lines = -1;  // how many lines to read; -1: all
  char delimiter = '\t';
  std::int64_t offset = 0;  // added to line numbers
};
Result<std::pair<Tensor, Tensor>> read_text_table(const std::string& path, const TextTable& text, DType key_dtype,
                                                  DType value_dtype);

}  // namespace argosy
