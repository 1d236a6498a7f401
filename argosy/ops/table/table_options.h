// TableOptions: dtypes and shapes of a table's keys and values, and its reserved keys. Internal to the table family.
#pragma once

#include <cstdint>
#include <string>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct TableOptions {
  DType key_dtype = DType::kInvalid, value_dtype = DType::kInvalid;
  Shape key_shape, value_shape;   // of one key, one value
  bool fixed = false;             // filled once, then only read (HashTable)
  Tensor empty_key, deleted_key;  // MutableDenseHashTable: the reserved keys; else invalid

  std::int64_t value_elements() const { return value_shape.elements(); }
  std::size_t value_bytes() const { return static_cast<std::size_t>(value_elements()) * element_bytes(value_dtype); }
  // Key `i` of `keys` as a string of bytes, the same for equal keys.
  std::string encoded(const Tensor& keys, std::int64_t i) const;
  // The shape of the values for keys of this shape. INVALID_ARGUMENT: it does not end with the shape of a key, or the
  // result would be too large for a shape.
  Result<Shape> values_of(const Shape& keys) const;
  // Check a tensor of keys; keys and a tensor with a value for each. INVALID_ARGUMENT: they do not fit the table. Both
  // set `count` to the number of keys.
  Status check_keys(const Tensor& keys, std::int64_t* count) const;
  Status check_rows(const Tensor& keys, const Tensor& values, std::int64_t* count) const;
};

}  // namespace argosy
