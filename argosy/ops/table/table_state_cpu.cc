#include "argosy/ops/table/table_state.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace argosy {

namespace {

Shape joined(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> sizes(a.sizes().begin(), a.sizes().end());
  sizes.insert(sizes.end(), b.sizes().begin(), b.sizes().end());
  return Shape(sizes);
}

// `shape` without `tail` at its end; nothing when it does not end so.
std::optional<Shape> without_tail(const Shape& shape, const Shape& tail) {
  const auto sizes = shape.sizes();
  const std::size_t lead = sizes.size() - std::min(sizes.size(), tail.sizes().size());
  if (!std::ranges::equal(sizes.subspan(lead), tail.sizes())) return std::nullopt;
  return Shape(sizes.first(lead));
}

}  // namespace

std::string Table::describe() const {
  return str_cat("table of ", dtype_name(options_.key_dtype), " to ", dtype_name(options_.value_dtype));
}

std::size_t Table::value_bytes() const {
  return static_cast<std::size_t>(value_elements()) * element_bytes(options_.value_dtype);
}

// --- what comes in ---------------------------------------------------------------------------------------------------

std::string Table::encoded(const Tensor& keys, std::int64_t i) const {
  const std::int64_t n = options_.key_shape.elements();
  if (options_.key_dtype == DType::kString) {
    if (n == 1) return keys.data<std::string>()[i];
    std::string text;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::string& part = keys.data<std::string>()[i * n + k];
      text += str_cat(part.size(), ":", part);
    }
    return text;
  }
  const std::size_t bytes = static_cast<std::size_t>(n) * element_bytes(options_.key_dtype);
  return std::string(keys.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes);
}

Status Table::check_keys(const Tensor& keys, std::int64_t* count) const {
  if (keys.dtype() != options_.key_dtype) {
    return invalid_argument("Key must be type ", dtype_name(options_.key_dtype), " but got ", dtype_name(keys.dtype()));
  }
  const auto lead = without_tail(keys.shape(), options_.key_shape);
  if (!lead) {
    return invalid_argument("Input key shape must end with ", options_.key_shape, ", got ", keys.shape());
  }
  *count = lead->elements();
  if (!options_.empty_key.valid()) return ok_status();
  const std::string empty = encoded(options_.empty_key, 0);
  const std::string deleted = options_.deleted_key.valid() ? encoded(options_.deleted_key, 0) : empty;
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::string key = encoded(keys, i);
    if (key == empty) return invalid_argument("Using the empty_key as a table key is not allowed");
    if (key == deleted) return invalid_argument("Using the deleted_key as a table key is not allowed");
  }
  return ok_status();
}

Status Table::check_rows(const Tensor& keys, const Tensor& values, std::int64_t* count) const {
  ARGOSY_RETURN_IF_ERROR(check_keys(keys, count));
  if (values.dtype() != options_.value_dtype) {
    return invalid_argument("Expected value type ", dtype_name(options_.value_dtype), " but got ",
                            dtype_name(values.dtype()));
  }
  const Shape expected = joined(*without_tail(keys.shape(), options_.key_shape), options_.value_shape);
  if (values.shape() == expected) return ok_status();
  return invalid_argument("Expected shape ", expected, " for value, got ", values.shape());
}

// --- rows ------------------------------------------------------------------------------------------------------------

void Table::set_value(Content& content, std::int64_t row, const Tensor& values, std::int64_t i) const {
  const std::int64_t n = value_elements();
  if (options_.value_dtype == DType::kString) {
    std::copy_n(values.data<std::string>() + i * n, n, content.values.strings.begin() + row * n);
    return;
  }
  const std::size_t bytes = value_bytes();
  if (bytes > 0) {
    std::memcpy(content.values.bytes.data() + static_cast<std::size_t>(row) * bytes,
                values.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes);
  }
}

bool Table::same_value(const Content& content, std::int64_t row, const Tensor& values, std::int64_t i) const {
  const std::int64_t n = value_elements();
  if (options_.value_dtype == DType::kString) {
    return std::equal(content.values.strings.begin() + row * n, content.values.strings.begin() + (row + 1) * n,
                      values.data<std::string>() + i * n);
  }
  const std::size_t bytes = value_bytes();
  return bytes == 0 || std::memcmp(content.values.bytes.data() + static_cast<std::size_t>(row) * bytes,
                                   values.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes) == 0;
}

void Table::copy_value(const Content& content, std::int64_t row, const Tensor& to, std::int64_t i) const {
  const std::int64_t n = value_elements();
  if (options_.value_dtype == DType::kString) {
    std::copy_n(content.values.strings.begin() + row * n, n, to.data<std::string>() + i * n);
    return;
  }
  const std::size_t bytes = value_bytes();
  if (bytes > 0) {
    std::memcpy(to.raw_as<char>() + static_cast<std::size_t>(i) * bytes,
                content.values.bytes.data() + static_cast<std::size_t>(row) * bytes, bytes);
  }
}

void Table::put(Content& content, const Tensor& keys, const Tensor& values, std::int64_t i) const {
  const auto rows = static_cast<std::int64_t>(content.keys.size());
  const auto [at, fresh] = content.index.try_emplace(encoded(keys, i), rows);
  if (fresh) {
    content.keys.push_back(at->first);
    if (options_.value_dtype == DType::kString) {
      content.values.strings.resize(content.values.strings.size() + static_cast<std::size_t>(value_elements()));
    } else {
      content.values.bytes.resize(content.values.bytes.size() + value_bytes());
    }
  }
  set_value(content, at->second, values, i);
}

// --- operations ------------------------------------------------------------------------------------------------------

Result<Tensor> Table::find(const Tensor& keys, const Tensor& missing, Allocator& memory) const {
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(check_keys(keys, &count));
  const Shape shape = joined(*without_tail(keys.shape(), options_.key_shape), options_.value_shape);
  const bool each = missing.shape() == shape && !(shape == options_.value_shape);
  if (missing.dtype() != options_.value_dtype || (!each && !(missing.shape() == options_.value_shape))) {
    return invalid_argument("Expected shape ", options_.value_shape, " or ", shape, " and type ",
                            dtype_name(options_.value_dtype), " for default value, got ", missing.shape(), " ",
                            dtype_name(missing.dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(options_.value_dtype, shape, memory));
  const std::int64_t n = value_elements();
  MutexLock lock(mutex_);
  if (options_.fixed && !filled_) return failed_precondition("Table not initialized.");
  for (std::int64_t i = 0; i < count; ++i) {
    const auto found = content_.index.find(encoded(keys, i));
    if (found != content_.index.end()) {
      copy_value(content_, found->second, out, i);
    } else if (n > 0) {
      const std::int64_t from = each && !options_.fixed ? i : 0;  // of a fixed one TensorFlow takes the first
      if (options_.value_dtype == DType::kString) {
        std::copy_n(missing.data<std::string>() + from * n, n, out.data<std::string>() + i * n);
      } else {
        std::memcpy(out.raw_as<char>() + static_cast<std::size_t>(i) * value_bytes(),
                    missing.raw_as<const char>() + static_cast<std::size_t>(from) * value_bytes(), value_bytes());
      }
    }
  }
  return out;
}

Status Table::insert(const Tensor& keys, const Tensor& values) {
  if (options_.fixed) {
    return unimplemented("Insert not supported by tables that are initialized once").with_hint("use a mutable table");
  }
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(check_rows(keys, values, &count));
  MutexLock lock(mutex_);
  for (std::int64_t i = 0; i < count; ++i) put(content_, keys, values, i);
  return ok_status();
}

// The last row takes the place of the one that goes.
Status Table::remove(const Tensor& keys) {
  if (options_.fixed) return unimplemented("Remove not supported by tables that are initialized once");
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(check_keys(keys, &count));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor row,
                          Tensor::allocate(options_.value_dtype, options_.value_shape, host_allocator()));
  MutexLock lock(mutex_);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto found = content_.index.find(encoded(keys, i));
    if (found == content_.index.end()) continue;
    const std::int64_t at = found->second, last = static_cast<std::int64_t>(content_.keys.size()) - 1;
    content_.index.erase(found);
    if (at != last) {
      copy_value(content_, last, row, 0);
      set_value(content_, at, row, 0);
      content_.keys[static_cast<std::size_t>(at)] = std::move(content_.keys.back());
      content_.index[content_.keys[static_cast<std::size_t>(at)]] = at;
    }
    content_.keys.pop_back();
    if (options_.value_dtype == DType::kString) {
      content_.values.strings.resize(static_cast<std::size_t>(last * value_elements()));
    } else {
      content_.values.bytes.resize(static_cast<std::size_t>(last) * value_bytes());
    }
  }
  return ok_status();
}

Status Table::import_all(const Tensor& keys, const Tensor& values) {
  if (options_.fixed) return initialize(keys, values);
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(check_rows(keys, values, &count));
  Content fresh;
  for (std::int64_t i = 0; i < count; ++i) put(fresh, keys, values, i);
  MutexLock lock(mutex_);
  content_ = std::move(fresh);
  return ok_status();
}

Status Table::initialize(const Tensor& keys, const Tensor& values) {
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(check_rows(keys, values, &count));
  Content fresh;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto known = fresh.index.find(encoded(keys, i));
    if (known != fresh.index.end() && !same_value(fresh, known->second, values, i)) {
      return failed_precondition("HashTable has different value for same key. Key number ", i, " was there already");
    }
    put(fresh, keys, values, i);
  }
  MutexLock lock(mutex_);
  if (!filled_) {
    content_ = std::move(fresh);
    filled_ = true;
    return ok_status();
  }
  // TensorFlow, too, only counts.
  if (count == static_cast<std::int64_t>(content_.keys.size())) return ok_status();
  return failed_precondition("Table already initialized.");
}

Result<std::pair<Tensor, Tensor>> Table::export_all(Allocator& memory) const {
  MutexLock lock(mutex_);
  if (options_.fixed && !filled_) return failed_precondition("Table not initialized.");
  const auto count = static_cast<std::int64_t>(content_.keys.size());
  ARGOSY_ASSIGN_OR_RETURN(Tensor keys,
                          Tensor::allocate(options_.key_dtype, options_.key_shape.inserted(0, count), memory));
  ARGOSY_ASSIGN_OR_RETURN(Tensor values,
                          Tensor::allocate(options_.value_dtype, options_.value_shape.inserted(0, count), memory));
  char* to = keys.raw_as<char>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& key = content_.keys[static_cast<std::size_t>(i)];
    if (options_.key_dtype == DType::kString) {
      keys.data<std::string>()[i] = key;
    } else if (!key.empty()) {
      std::memcpy(to, key.data(), key.size());
      to += key.size();
    }
    copy_value(content_, i, values, i);
  }
  return std::pair(std::move(keys), std::move(values));
}

std::int64_t Table::size() const {
  MutexLock lock(mutex_);
  return static_cast<std::int64_t>(content_.keys.size());
}

Result<std::function<Status()>> Table::set_aside() const {
  auto* const self = const_cast<Table*>(this);
  MutexLock lock(mutex_);
  return std::function<Status()>([self, content = content_, filled = filled_] {
    MutexLock again(self->mutex_);
    self->content_ = content;
    self->filled_ = filled;
    return ok_status();
  });
}

Result<std::vector<Tensor>> Table::contents() const {
  MutexLock lock(mutex_);
  std::map<std::string, std::int64_t> sorted(content_.index.begin(), content_.index.end());
  std::vector<Tensor> all;
  for (const auto& [key, row] : sorted) {
    all.push_back(Tensor::scalar(key));
    const Tensor value = Tensor::zeros(options_.value_dtype, options_.value_shape.inserted(0, 1));
    copy_value(content_, row, value, 0);
    all.push_back(value);
  }
  return all;
}

}  // namespace argosy
