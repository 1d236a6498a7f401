#include "tools/argosy/ckpt_values.h"

#include <cmath>
#include <complex>

namespace argosy::cli {

namespace {

std::string as_literal(const std::string& bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += str_cat('\\', c);
    } else if (byte < 0x20 || byte >= 0x7f) {
      constexpr const char* kHex = "0123456789abcdef";
      text += str_cat("\\x", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

template <typename T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return str_cat("(", value.real(), ",", value.imag(), ")");
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    return str_cat(value);
  } else {
    return str_cat(static_cast<float>(value));  // bfloat16, float16
  }
}

// |a - b|; 0 for two NaNs, infinity where only one side is a number.
template <typename T>
double distance(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return a == b ? 0 : static_cast<double>(std::abs(a - b));
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(x) && std::isnan(y)) return 0;
    if (a == b) return 0;
    // Neighbouring 64-bit integers may be the same double.
    const double apart = std::fabs(x - y);
    return std::isnan(apart) ? HUGE_VAL : std::max(apart, std::is_integral_v<T> ? 1.0 : 0.0);
  }
}

std::string index_text(const Shape& shape, std::int64_t flat) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at[static_cast<std::size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return str_cat("[", str_join(at, ","), "]");
}

// "" when they are equal. REQUIRES: equal dtypes and shapes.
std::string compare_values(const Tensor& a, const Tensor& b, double tolerance) {
  std::int64_t count = 0, worst_at = 0;
  double worst = 0;
  const auto note = [&](std::int64_t i, double apart) {
    ++count;
    if (apart > worst) {
      worst = apart;
      worst_at = i;
    }
  };
  if (a.dtype() == DType::kString) {
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      if (a.data<std::string>()[i] != b.data<std::string>()[i]) note(i, static_cast<double>(a.elements() - i));
    }
    return count == 0
               ? ""
               : str_cat(count, " of ", a.elements(), " strings differ, first at ", index_text(a.shape(), worst_at));
  }
  const auto compare = [&]<typename T>() {
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const double apart = distance(a.data<T>()[i], b.data<T>()[i]);
      if (apart > tolerance) note(i, apart);
    }
    return ok_status();
  };
  Status status =
      a.dtype() == DType::kBool ? compare.operator()<bool>() : dispatch<NumberTypes>(a.dtype(), "ckpt diff", compare);
  if (!status.ok()) return status.message();
  if (count == 0) return "";
  return str_cat(count, " of ", a.elements(), " values differ, most by ", worst, " at ",
                 index_text(a.shape(), worst_at));
}

}  // namespace

std::vector<std::string> value_texts(const Tensor& tensor, std::int64_t limit) {
  std::vector<std::string> texts;
  const std::int64_t count = std::min(limit, tensor.elements());
  if (tensor.dtype() == DType::kString) {
    for (std::int64_t i = 0; i < count; ++i) texts.push_back(as_literal(tensor.data<std::string>()[i]));
    return texts;
  }
  const auto show = [&]<typename T>() {
    for (std::int64_t i = 0; i < count; ++i) texts.push_back(value_text(tensor.data<T>()[i]));
    return ok_status();
  };
  Status status = tensor.dtype() == DType::kBool ? show.operator()<bool>()
                                                 : dispatch<NumberTypes>(tensor.dtype(), "ckpt cat", show);
  if (!status.ok()) texts = {status.message()};
  return texts;
}

Result<std::vector<Difference>> compare_checkpoints(const tf::CheckpointReader& a, const tf::CheckpointReader& b,
                                                    double tolerance) {
  std::vector<Difference> found;
  for (const tf::CheckpointEntry& entry : b.entries()) {
    if (a.find(entry.name) == nullptr) found.push_back({entry.name, str_cat("only in ", b.prefix())});
  }
  for (const tf::CheckpointEntry& entry : a.entries()) {
    const tf::CheckpointEntry* other = b.find(entry.name);
    if (other == nullptr) {
      found.push_back({entry.name, str_cat("only in ", a.prefix())});
    } else if (entry.dtype_number != other->dtype_number) {
      found.push_back({entry.name, str_cat("dtype ", dtype_name(entry.dtype), " / ", dtype_name(other->dtype))});
    } else if (!(entry.shape == other->shape)) {
      found.push_back({entry.name, str_cat("shape ", entry.shape.to_string(), " / ", other->shape.to_string())});
    } else {
      ARGOSY_ASSIGN_OR_RETURN(const Tensor left, a.read(entry.name));
      ARGOSY_ASSIGN_OR_RETURN(const Tensor right, b.read(entry.name));
      std::string what = compare_values(left, right, tolerance);
      if (!what.empty()) found.push_back({entry.name, std::move(what)});
    }
  }
  return found;
}

}  // namespace argosy::cli
