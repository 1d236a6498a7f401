#include "argosy/ops/table/table_options.h"

#include <algorithm>

namespace argosy {

namespace {

Result<Shape> joined(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> sizes(a.sizes().begin(), a.sizes().end());
  sizes.insert(sizes.end(), b.sizes().begin(), b.sizes().end());
  return Shape::make(sizes);
}

// The shape of keys without a key's at its end. INVALID_ARGUMENT: it does not end so.
Result<Shape> without_tail(const Shape& keys, const Shape& key) {
  const auto sizes = keys.sizes();
  const std::size_t lead = sizes.size() - std::min(sizes.size(), key.sizes().size());
  if (std::ranges::equal(sizes.subspan(lead), key.sizes())) return Shape(sizes.first(lead));
  return invalid_argument("Input key shape must end with ", key, ", got ", keys);
}

}  // namespace

std::string TableOptions::encoded(const Tensor& keys, std::int64_t i) const {
  const std::int64_t n = key_shape.elements();
  if (key_dtype == DType::kString) {
    if (n == 1) return keys.data<std::string>()[i];
    std::string text;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::string& part = keys.data<std::string>()[i * n + k];
      text += str_cat(part.size(), ":", part);
    }
    return text;
  }
  const std::size_t bytes = static_cast<std::size_t>(n) * element_bytes(key_dtype);
  return std::string(keys.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes);
}

Result<Shape> TableOptions::values_of(const Shape& keys) const {
  ARGOSY_ASSIGN_OR_RETURN(const Shape lead, without_tail(keys, key_shape));
  return joined(lead, value_shape);
}

Status TableOptions::check_keys(const Tensor& keys, std::int64_t* count) const {
  if (keys.dtype() != key_dtype) {
    return invalid_argument("Key must be type ", dtype_name(key_dtype), " but got ", dtype_name(keys.dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape lead, without_tail(keys.shape(), key_shape));
  *count = lead.elements();
  if (!empty_key.valid()) return ok_status();
  const std::string empty = encoded(empty_key, 0);
  const std::string deleted = deleted_key.valid() ? encoded(deleted_key, 0) : empty;
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::string key = encoded(keys, i);
    if (key == empty) return invalid_argument("Using the empty_key as a table key is not allowed");
    if (key == deleted) return invalid_argument("Using the deleted_key as a table key is not allowed");
  }
  return ok_status();
}

Status TableOptions::check_rows(const Tensor& keys, const Tensor& values, std::int64_t* count) const {
  ARGOSY_RETURN_IF_ERROR(check_keys(keys, count));
  if (values.dtype() != value_dtype) {
    return invalid_argument("Expected value type ", dtype_name(value_dtype), " but got ", dtype_name(values.dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape expected, values_of(keys.shape()));
  if (values.shape() == expected) return ok_status();
  return invalid_argument("Expected shape ", expected, " for value, got ", values.shape());
}

}  // namespace argosy
