#include "argosy/ops/string/number.h"

#include <locale.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "argosy/ops/string/each_string.h"

namespace argosy {

namespace {

// Decimal points are points, whatever the user's locale says.
locale_t plain_locale() {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

template <typename T>
bool parse_floating(std::string_view text, T& to, T (*convert)(const char*, char**, locale_t)) {
  const std::string ended(stripped(text));
  if (ended.empty()) return false;
  char* end = nullptr;
  to = convert(ended.c_str(), &end, plain_locale());
  return end == ended.c_str() + ended.size();
}

template <typename T>
bool parse_integer(std::string_view text, T& to) {
  text = stripped(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool parse_number(std::string_view text, float& to) { return parse_floating(text, to, strtof_l); }
bool parse_number(std::string_view text, double& to) { return parse_floating(text, to, strtod_l); }
bool parse_number(std::string_view text, std::int32_t& to) { return parse_integer(text, to); }
bool parse_number(std::string_view text, std::int64_t& to) { return parse_integer(text, to); }
bool parse_number(std::string_view text, std::uint32_t& to) { return parse_integer(text, to); }
bool parse_number(std::string_view text, std::uint64_t& to) { return parse_integer(text, to); }

}  // namespace argosy
