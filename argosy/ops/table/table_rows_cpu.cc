#include "argosy/ops/table/table_rows.h"

#include <algorithm>
#include <cstring>

namespace argosy {

std::int64_t TableRows::find(const std::string& key) const {
  const auto found = index_.find(key);
  return found != index_.end() ? found->second : -1;
}

void TableRows::put(const Tensor& keys, const Tensor& values, std::int64_t i) {
  const auto rows = static_cast<std::int64_t>(keys_.size());
  const auto [at, fresh] = index_.try_emplace(options_->encoded(keys, i), rows);
  if (fresh) {
    keys_.push_back(at->first);
    resize_values(rows + 1);
  }
  set_value(at->second, values, i);
}

void TableRows::remove(const std::string& key, const Tensor& spare) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  const std::int64_t at = found->second, last = size() - 1;
  index_.erase(found);
  if (at != last) {
    copy_value(last, spare, 0);
    set_value(at, spare, 0);
    keys_[static_cast<std::size_t>(at)] = std::move(keys_.back());
    index_[keys_[static_cast<std::size_t>(at)]] = at;
  }
  keys_.pop_back();
  resize_values(last);
}

void TableRows::resize_values(std::int64_t rows) {
  if (options_->value_dtype == DType::kString) {
    strings_.resize(static_cast<std::size_t>(rows * options_->value_elements()));
  } else {
    bytes_.resize(static_cast<std::size_t>(rows) * options_->value_bytes());
  }
}

bool TableRows::same_value(std::int64_t row, const Tensor& values, std::int64_t i) const {
  const std::int64_t n = options_->value_elements();
  if (options_->value_dtype == DType::kString) {
    return std::equal(strings_.begin() + row * n, strings_.begin() + (row + 1) * n, values.data<std::string>() + i * n);
  }
  const std::size_t bytes = options_->value_bytes();
  return bytes == 0 || std::memcmp(bytes_.data() + static_cast<std::size_t>(row) * bytes,
                                   values.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes) == 0;
}

void TableRows::copy_value(std::int64_t row, const Tensor& to, std::int64_t i) const {
  const std::int64_t n = options_->value_elements();
  if (options_->value_dtype == DType::kString) {
    std::copy_n(strings_.begin() + row * n, n, to.data<std::string>() + i * n);
    return;
  }
  const std::size_t bytes = options_->value_bytes();
  if (bytes > 0) {
    std::memcpy(to.raw_as<char>() + static_cast<std::size_t>(i) * bytes,
                bytes_.data() + static_cast<std::size_t>(row) * bytes, bytes);
  }
}

void TableRows::set_value(std::int64_t row, const Tensor& values, std::int64_t i) {
  const std::int64_t n = options_->value_elements();
  if (options_->value_dtype == DType::kString) {
    std::copy_n(values.data<std::string>() + i * n, n, strings_.begin() + row * n);
    return;
  }
  const std::size_t bytes = options_->value_bytes();
  if (bytes > 0) {
    std::memcpy(bytes_.data() + static_cast<std::size_t>(row) * bytes,
                values.raw_as<const char>() + static_cast<std::size_t>(i) * bytes, bytes);
  }
}

}  // namespace argosy
