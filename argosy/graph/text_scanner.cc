#include <cctype>
#include <charconv>

#include "argosy/base/utf8.h"
#include "argosy/graph/text_values.h"

namespace argosy::text {

namespace {

bool name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./->").find(c) != std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void Scanner::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && across_lines_)) {
      ++at_;
    } else {
      return;
    }
  }
}

bool Scanner::take(std::string_view token) {
  skip();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool Scanner::next_is(char c) {
  skip();
  return at_ < text_.size() && text_[at_] == c;
}

bool Scanner::at_line_end() { return at_end() || text_[at_] == '\n'; }

bool Scanner::at_end() {
  skip();
  return at_ >= text_.size();
}

void Scanner::skip_lines() {
  const bool before = std::exchange(across_lines_, true);
  skip();
  across_lines_ = before;
}

Result<std::string> Scanner::name(std::string_view what) {
  skip();
  if (next_is('"')) return quoted();
  std::size_t end = at_;
  while (end < text_.size() && name_char(text_[end])) ++end;
  if (end == at_) return error(str_cat("expected ", what));
  std::string found(text_.substr(at_, end - at_));
  at_ = end;
  return found;
}

Result<std::string> Scanner::quoted() {
  const std::size_t start = at_;
  if (!take("\"")) return error("expected a string in quotes");
  std::string bytes;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_++];
    if (c == '"') return bytes;
    if (c != '\\') {
      bytes += c;
      continue;
    }
    const char escaped = at_ < text_.size() ? text_[at_++] : '\0';
    switch (escaped) {
      case '"':
      case '\\': bytes += escaped; break;
      case 'n': bytes += '\n'; break;
      case 't': bytes += '\t'; break;
      case 'r': bytes += '\r'; break;
      case 'x': {
        const int high = at_ + 1 < text_.size() ? hex_digit(text_[at_]) : -1;
        const int low = at_ + 1 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
        if (high < 0 || low < 0) return error("\\x needs two digits of 0-9 a-f");
        bytes += static_cast<char>(high * 16 + low);
        at_ += 2;
        break;
      }
      default: return error("unknown escape: \\\" \\\\ \\n \\t \\r and \\xHH there are");
    }
  }
  return error_at(start, "this string has no end on its line");
}

Result<std::int64_t> Scanner::integer(std::string_view what) {
  skip();
  std::int64_t n = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), n);
  if (failed != std::errc{}) return error(str_cat("expected ", what));
  at_ += static_cast<std::size_t>(end - begin);
  return n;
}

std::string_view Scanner::word() {
  skip();
  const std::size_t end = std::min(text_.find_first_of(" \t\r\n,[]{}()#=", at_), text_.size());
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

std::string_view Scanner::until_blank() {
  const std::size_t end = std::min(text_.find_first_of(" \t\r\n", at_), text_.size());
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

Status Scanner::error(std::string_view message) const { return error_at(at_, message); }

Status Scanner::error_at(std::size_t position, std::string_view message) const {
  std::size_t line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < position && i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return invalid_argument("line ", line, ", column ", position - start + 1, ": ", message)
      .with_id("ARG-TEXT-001")
      .with_where("graph text");
}

std::string quote(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const std::size_t length = utf8_length(bytes.substr(i));
      if (length > 0) {
        text += bytes.substr(i, length);
        i += length - 1;
        continue;
      }
    }
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string name_text(std::string_view name) {
  bool plain = !name.empty();
  for (const char c : name) plain = plain && name_char(c);
  return plain ? std::string(name) : quote(name);
}

}  // namespace argosy::text
