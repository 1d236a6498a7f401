#include "argosy/ops/table/table_state.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace argosy {

std::string Table::describe() const {
  return str_cat("table of ", dtype_name(options_.key_dtype), " to ", dtype_name(options_.value_dtype));
}

Result<Tensor> Table::find(const Tensor& keys, const Tensor& missing, Allocator& memory) const {
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(options_.check_keys(keys, &count));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, options_.values_of(keys.shape()));
  const bool each = missing.shape() == shape && !(shape == options_.value_shape);
  if (missing.dtype() != options_.value_dtype || (!each && !(missing.shape() == options_.value_shape))) {
    return invalid_argument("Expected shape ", options_.value_shape, " or ", shape, " and type ",
                            dtype_name(options_.value_dtype), " for default value, got ", missing.shape(), " ",
                            dtype_name(missing.dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(options_.value_dtype, shape, memory));
  const std::int64_t n = options_.value_elements();
  const std::size_t bytes = options_.value_bytes();
  MutexLock lock(mutex_);
  if (options_.fixed && !filled_) return failed_precondition("Table not initialized.");
  for (std::int64_t i = 0; i < count; ++i) {
    if (const std::int64_t row = rows_.find(options_.encoded(keys, i)); row >= 0) {
      rows_.copy_value(row, out, i);
    } else if (n > 0) {
      const std::int64_t from = each && !options_.fixed ? i : 0;  // of a fixed one TensorFlow takes the first
      if (options_.value_dtype == DType::kString) {
        std::copy_n(missing.data<std::string>() + from * n, n, out.data<std::string>() + i * n);
      } else {
        std::memcpy(out.raw_as<char>() + static_cast<std::size_t>(i) * bytes,
                    missing.raw_as<const char>() + static_cast<std::size_t>(from) * bytes, bytes);
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
  ARGOSY_RETURN_IF_ERROR(options_.check_rows(keys, values, &count));
  MutexLock lock(mutex_);
  for (std::int64_t i = 0; i < count; ++i) rows_.put(keys, values, i);
  return ok_status();
}

Status Table::remove(const Tensor& keys) {
  if (options_.fixed) return unimplemented("Remove not supported by tables that are initialized once");
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(options_.check_keys(keys, &count));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor spare,
                          Tensor::allocate(options_.value_dtype, options_.value_shape, host_allocator()));
  MutexLock lock(mutex_);
  for (std::int64_t i = 0; i < count; ++i) rows_.remove(options_.encoded(keys, i), spare);
  return ok_status();
}

Status Table::import_all(const Tensor& keys, const Tensor& values) {
  if (options_.fixed) return initialize(keys, values);
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(options_.check_rows(keys, values, &count));
  TableRows fresh(options_);
  for (std::int64_t i = 0; i < count; ++i) fresh.put(keys, values, i);
  MutexLock lock(mutex_);
  rows_ = std::move(fresh);
  return ok_status();
}

Status Table::initialize(const Tensor& keys, const Tensor& values) {
  std::int64_t count = 0;
  ARGOSY_RETURN_IF_ERROR(options_.check_rows(keys, values, &count));
  TableRows fresh(options_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t known = fresh.find(options_.encoded(keys, i));
    if (known >= 0 && !fresh.same_value(known, values, i)) {
      return failed_precondition("HashTable has different value for same key. Key number ", i, " was there already");
    }
    fresh.put(keys, values, i);
  }
  MutexLock lock(mutex_);
  if (!filled_) {
    rows_ = std::move(fresh);
    filled_ = true;
    return ok_status();
  }
  // TensorFlow, too, only counts.
  if (count == rows_.size()) return ok_status();
  return failed_precondition("Table already initialized.");
}

Result<std::pair<Tensor, Tensor>> Table::export_all(Allocator& memory) const {
  MutexLock lock(mutex_);
  if (options_.fixed && !filled_) return failed_precondition("Table not initialized.");
  const std::int64_t count = rows_.size();
  ARGOSY_ASSIGN_OR_RETURN(Tensor keys,
                          Tensor::allocate(options_.key_dtype, options_.key_shape.inserted(0, count), memory));
  ARGOSY_ASSIGN_OR_RETURN(Tensor values,
                          Tensor::allocate(options_.value_dtype, options_.value_shape.inserted(0, count), memory));
  char* to = keys.raw_as<char>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& key = rows_.keys()[static_cast<std::size_t>(i)];
    if (options_.key_dtype == DType::kString) {
      keys.data<std::string>()[i] = key;
    } else if (!key.empty()) {
      std::memcpy(to, key.data(), key.size());
      to += key.size();
    }
    rows_.copy_value(i, values, i);
  }
  return std::pair(std::move(keys), std::move(values));
}

std::int64_t Table::size() const {
  MutexLock lock(mutex_);
  return rows_.size();
}

Result<std::function<Status()>> Table::snapshot() const {
  auto* const self = const_cast<Table*>(this);
  MutexLock lock(mutex_);
  return std::function<Status()>([self, rows = rows_, filled = filled_] {
    MutexLock again(self->mutex_);
    self->rows_ = rows;
    self->filled_ = filled;
    return ok_status();
  });
}

Result<std::vector<Tensor>> Table::contents() const {
  MutexLock lock(mutex_);
  std::map<std::string_view, std::int64_t> sorted;
  for (std::int64_t row = 0; row < rows_.size(); ++row) sorted[rows_.keys()[static_cast<std::size_t>(row)]] = row;
  std::vector<Tensor> all;
  for (const auto& [key, row] : sorted) {
    all.push_back(Tensor::scalar(std::string(key)));
    const Tensor value = Tensor::zeros(options_.value_dtype, options_.value_shape.inserted(0, 1));
    rows_.copy_value(row, value, 0);
    all.push_back(value);
  }
  return all;
}

}  // namespace argosy
