// What a table holds: dtypes and shapes of its keys and values, and which keys may be used. Internal to the table family.
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
  Tensor empty_key, deleted_key;  // keys that nobody may use; invalid: all may be (MutableDenseHashTable)

  std::int64_t value_elements() const { return value_shape.elements(); }
  std::size_t value_bytes() const { return static_cast<std::size_t>(value_elements()) * element_bytes(value_dtype); }
  // Key `i` of `keys`, as text: equal for equal keys.
  std::string encoded(const Tensor& keys, std::int64_t i) const;
  // The shape of the values of keys of this shape. INVALID_ARGUMENT: it does not end as a key's, or a shape cannot have so many values.
  Result<Shape> values_of(const Shape& keys) const;
  // INVALID_ARGUMENT where these cannot be keys, or a value for each of them. `count`: of keys.
  Status check_keys(const Tensor& keys, std::int64_t* count) const;
  Status check_rows(const Tensor& keys, const Tensor& values, std::int64_t* count) const;
};

}  // namespace argosy
