#include "argosy/ops/string/summarize.h"

#include <cstdio>
#include <cstdlib>

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

std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n': text += "\\n"; continue;
      case '\r': text += "\\r"; continue;
      case '\t': text += "\\t"; continue;
      case '"':
      case '\'':
      case '\\':
        text += '\\';
        text += c;
        continue;
      default: break;
    }
    if (byte < 0x20 || byte >= 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      text += octal;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string element(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::kString) return quoted(t.data<std::string>()[i]);
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
  std::string text = {};

  void space(int axis) {
    const int rank = t.shape().rank();
    if (axis == rank - 1) {
      text += ' ';
      return;
    }
    text.append(static_cast<std::size_t>(rank - 1 - axis), '\n');
    text.append(static_cast<std::size_t>(axis) + 1, ' ');
  }
  void print(int axis, std::int64_t at, std::int64_t elements) {
    if (axis == t.shape().rank()) {
      text += element(t, at);
      return;
    }
    const std::int64_t size = t.shape()[axis];
    const std::int64_t each = size > 0 ? elements / size : 0;
    text += '[';
    for (std::int64_t i = 0; i < std::min(ends, size); ++i) {
      if (i > 0) space(axis);
      print(axis + 1, at + i * each, each);
    }
    if (size > 2 * ends) {
      space(axis);
      text += "...";
    }
    for (std::int64_t i = std::max(ends, size - ends); i < size; ++i) {
      space(axis);
      print(axis + 1, at + i * each, each);
    }
    text += ']';
  }
};

}  // namespace

std::string summarize(const Tensor& t, std::int64_t ends) {
  const std::int64_t n = t.elements();
  ValuePrinter printer{t, ends < 0 ? n : std::min(ends, n)};
  printer.print(0, 0, n);
  return printer.text;
}

}  // namespace argosy
