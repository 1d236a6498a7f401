// Building text from parts: str_cat("rank ", 3, " of ", 4). For errors and logs, not for hot paths.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace argosy {

namespace internal {
inline void append(std::string& to, std::string_view part) { to += part; }
inline void append(std::string& to, const char* part) { to += part; }
inline void append(std::string& to, const std::string& part) { to += part; }
inline void append(std::string& to, char part) { to += part; }
inline void append(std::string& to, bool part) { to += part ? "true" : "false"; }
template <std::integral T>
void append(std::string& to, T part) {
  to += std::to_string(part);
}
template <std::floating_point T>
void append(std::string& to, T part) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, part).ptr;
  to.append(text, end);
}
template <typename T>
requires requires(const T& t) {
  { t.to_string() } -> std::convertible_to<std::string>;
}
void append(std::string& to, const T& part) { to += part.to_string(); }
}  // namespace internal

// Appends one value as text. Numbers in the shortest form that reads back equal; types with to_string() by it.
template <typename... Parts>
std::string str_cat(const Parts&... parts) {
  std::string text;
  (internal::append(text, parts), ...);
  return text;
}

// "a, b, c" of anything str_cat takes.
template <typename Range>
std::string str_join(const Range& items, std::string_view separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    internal::append(text, item);
  }
  return text;
}

// Parts between separators, empty ones included.
std::vector<std::string> str_split(std::string_view text, char separator);
std::string_view str_trim(std::string_view text);  // without white space at both ends

// "11.8 GiB", "4.0 KiB", "17 B".
std::string format_bytes(std::uint64_t bytes);

// "4GiB", "512MB", "1.5 GiB", "4096" to bytes; negative when the text is not a size.
std::int64_t parse_bytes(std::string_view text);

// The candidate with the smallest edit distance to `word`, for "did you mean"; empty: none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace argosy
