#include "argosy/ops/debug/first_values.h"

#include <cstdio>

namespace argosy {

namespace {

template <typename T>
std::string element_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (is_complex(dtype_of<T>())) {
    return str_cat("(", element_text(value.real()), ",", element_text(value.imag()), ")");
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
    return text;
  }
}

template <typename T>
class ValuePrinter {
 public:
  ValuePrinter(const Tensor& t, std::int64_t limit)
      : t_(t), limit_(limit < 0 ? t.elements() : std::min(limit, t.elements())) {}

  std::string text() {
    if (t_.shape().rank() == 0) {
      if (limit_ > 0) text_ = element_text(*t_.data<T>());
    } else {
      axis(0);
    }
    if (t_.elements() > limit_) text_ += "...";
    return text_;
  }

 private:
  void axis(int a) {
    const bool last = a == t_.shape().rank() - 1;
    for (std::int64_t i = 0; i < t_.shape()[a] && next_ < limit_; ++i) {
      if (last) {
        text_ += (i > 0 ? " " : "") + element_text(t_.data<T>()[next_++]);
        if (next_ >= limit_ && i + 1 < t_.shape()[a] && a != 0) text_ += "...";
      } else {
        text_ += "[";
        axis(a + 1);
        text_ += "]";
      }
    }
  }

  const Tensor& t_;
  const std::int64_t limit_;
  std::int64_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string first_values(const Tensor& t, std::int64_t limit) {
  using Printable = TypeList<float, double, bfloat16, float16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                             std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>,
                             std::complex<double>, std::string>;
  std::string text;
  const Status printed = dispatch<Printable>(t.dtype(), "summarize", [&]<typename T>() {
    text = ValuePrinter<T>(t, limit).text();
    return ok_status();
  });
  return printed.ok() ? text : str_cat("<", dtype_name(t.dtype()), t.shape(), ">");
}

}  // namespace argosy
