#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "argosy/base/system/file.h"
#include "argosy/ops/table/table_state.h"

namespace argosy {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// Element i of `to` is what the field says.
Status set_field(const Tensor& to, std::int64_t i, std::string_view field, std::int64_t line) {
  if (to.dtype() == DType::kString) {
    to.data<std::string>()[i] = std::string(field);
    return ok_status();
  }
  using Types = TypeList<std::int32_t, std::int64_t, float, double>;
  return dispatch<Types>(to.dtype(), "InitializeTableFromTextFile", [&]<typename T>() -> Status {
    const std::string_view word = trimmed(field);
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), to.data<T>()[i]);
    if (failed == std::errc{} && end == word.data() + word.size()) return ok_status();
    return invalid_argument("Field ", field, " in line ", line, " is not a valid ", dtype_name(to.dtype()), ".");
  });
}

Status set_number(const Tensor& to, std::int64_t i, std::int64_t number) {
  *(to.data<std::int64_t>() + i) = number;
  return ok_status();
}

Status check_dtype(std::int64_t column, DType dtype, const char* what) {
  if (column == TextTable::kNumber && dtype != DType::kInt64) {
    return invalid_argument(what, " index for line number requires ", what, " dtype int64, got ", dtype_name(dtype));
  }
  if (column == TextTable::kLine && dtype != DType::kString && dtype != DType::kInt64 && dtype != DType::kInt32) {
    return invalid_argument(what, " index for whole line requires string or integer type, got ", dtype_name(dtype));
  }
  return ok_status();
}

}  // namespace

Result<std::pair<Tensor, Tensor>> read_text_table(const std::string& path, const TextTable& text, DType key_dtype,
                                                  DType value_dtype) {
  ARGOSY_RETURN_IF_ERROR(check_dtype(text.key_column, key_dtype, "Key"));
  ARGOSY_RETURN_IF_ERROR(check_dtype(text.value_column, value_dtype, "Value"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, std::numeric_limits<std::int64_t>::max()));
  std::vector<std::string_view> lines;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (text.lines >= 0) {
    if (static_cast<std::int64_t>(lines.size()) < text.lines) {
      return invalid_argument("Invalid vocab_size in ", path, ": expected ", text.lines, " but got ", lines.size());
    }
    lines.resize(static_cast<std::size_t>(text.lines));
  }
  const auto count = static_cast<std::int64_t>(lines.size());
  ARGOSY_ASSIGN_OR_RETURN(Tensor keys, Tensor::allocate(key_dtype, {count}, host_allocator()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor values, Tensor::allocate(value_dtype, {count}, host_allocator()));
  const std::int64_t furthest = std::max(text.key_column, text.value_column);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view line = lines[static_cast<std::size_t>(i)];
    if (line.empty()) {
      const std::size_t end = bytes.find('\n', static_cast<std::size_t>(line.data() - bytes.data()));
      return invalid_argument("Invalid content in ", path, ": empty line found at position ",
                              end == std::string::npos ? bytes.size() : end + 1);
    }
    std::vector<std::string_view> columns;
    for (std::string_view rest = line; furthest >= 0;) {
      const std::size_t end = rest.find(text.delimiter);
      columns.push_back(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    if (furthest >= static_cast<std::int64_t>(columns.size())) {
      return invalid_argument("Invalid number of columns in ", path, " line ", i, " (", line, ") : expected at least ",
                              furthest + 1, " got ", columns.size());
    }
    for (const auto& [column, to] : {std::pair(text.key_column, keys), {text.value_column, values}}) {
      ARGOSY_RETURN_IF_ERROR(column == TextTable::kNumber ? set_number(to, i, i + text.offset)
                             : column == TextTable::kLine
                                 ? set_field(to, i, line, i)
                                 : set_field(to, i, columns[static_cast<std::size_t>(column)], i));
    }
  }
  return std::pair(std::move(keys), std::move(values));
}

}  // namespace argosy
