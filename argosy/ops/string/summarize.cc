#include "argosy/ops/string/summarize.h"

#include <cstdio>
#include <cstdlib>

#include "argosy/base/threads/interrupt.h"

namespace argosy {

namespace {

// The shorter of two lengths that reads back as the same number.
std::string number(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
  if (std::strtof(text, nullptr) != value) std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return text;
}
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  if (std::strtod(text, nullptr) != value) std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

bool is_text(char c) { return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f; }

// What stands behind the backslash; 0: the byte's number does.
char escaped(char c) {
  switch (c) {
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '"':
    case '\'':
    case '\\': return c;
    default: return 0;
  }
}

Status quote(const std::string& value, MadeStrings& made, std::string& to) {
  std::size_t bytes = 2;
  for (const char c : value) bytes += escaped(c) != 0 ? 2 : is_text(c) ? 1 : 4;
  ARGOSY_RETURN_IF_ERROR(made.reserve(to, bytes));
  to += '"';
  for (const char c : value) {
    if (const char e = escaped(c); e != 0) {
      to += '\\';
      to += e;
    } else if (is_text(c)) {
      to += c;
    } else {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned char>(c));
      to += octal;
    }
  }
  to += '"';
  return ok_status();
}

std::string element(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::kBool) return t.data<bool>()[i] ? "1" : "0";
  std::string text = "?";  // complex numbers, handles
  const Status known = dispatch<RealTypes>(t.dtype(), "summarize", [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      text = std::to_string(t.data<T>()[i]);
    } else if constexpr (std::is_same_v<T, double>) {
      text = number(t.data<T>()[i]);
    } else {
      text = number(static_cast<float>(t.data<T>()[i]));
    }
    return ok_status();
  });
  return known.ok() ? text : "?";
}

struct ValuePrinter {
  const Tensor& t;
  std::int64_t ends;
  MadeStrings& made;
  std::string& text;
  Poll poll = Poll(64);

  Status space(int axis) {
    const int rank = t.shape().rank();
    if (axis == rank - 1) return made.append(text, " ");
    return made.append(text, std::string(static_cast<std::size_t>(rank - 1 - axis), '\n') +
                                 std::string(static_cast<std::size_t>(axis) + 1, ' '));
  }
  Status print(int axis, std::int64_t at, std::int64_t elements) {
    poll();
    if (axis == t.shape().rank()) {
      if (t.dtype() == DType::kString) return quote(t.data<std::string>()[at], made, text);
      return made.append(text, element(t, at));
    }
    const std::int64_t size = t.shape()[axis];
    const std::int64_t each = size > 0 ? elements / size : 0;
    ARGOSY_RETURN_IF_ERROR(made.append(text, "["));
    for (std::int64_t i = 0; i < std::min(ends, size); ++i) {
      if (i > 0) ARGOSY_RETURN_IF_ERROR(space(axis));
      ARGOSY_RETURN_IF_ERROR(print(axis + 1, at + i * each, each));
    }
    if (size > 2 * ends) {
      ARGOSY_RETURN_IF_ERROR(space(axis));
      ARGOSY_RETURN_IF_ERROR(made.append(text, "..."));
    }
    for (std::int64_t i = std::max(ends, size - ends); i < size; ++i) {
      ARGOSY_RETURN_IF_ERROR(space(axis));
      ARGOSY_RETURN_IF_ERROR(print(axis + 1, at + i * each, each));
    }
    return made.append(text, "]");
  }
};

}  // namespace

Status summarize(const Tensor& t, std::int64_t ends, MadeStrings& made, std::string& to) {
  const std::int64_t n = t.elements();
  ValuePrinter printer{t, ends < 0 ? n : std::min(ends, n), made, to};
  return printer.print(0, 0, n);
}

}  // namespace argosy
