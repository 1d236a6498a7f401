#include "tools/argosy/graph/graph_feeds.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <optional>

#include "argosy/data/files/npy.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/graph/graph_values.h"

namespace argosy::cli {

namespace {

// NumPy's "float" has 64 bits, and bfloat16 is of another package.
std::string numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "'float32'";
    case DType::kFloat64: return "'float64'";
    case DType::kFloat16: return "'float16'";
    case DType::kBfloat16: return "ml_dtypes.bfloat16";
    default: return str_cat("'", dtype_name(storage_dtype(dtype)), "'");
  }
}

Status wrong_feed(std::string_view feed, const auto&... what) {
  return invalid_argument("--feed ", feed, ": ", what...)
      .with_id(kUsageId)
      .with_hint("--feed NAME=FILE.npy, or --feed NAME=NUMBER for a scalar");
}

// from_chars() takes no plus.
std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

template <typename T>
std::optional<T> parse_integer(std::string_view text) {
  text = without_plus(text);
  T number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// To 24 bits by truncation; the last bit says whether anything was cut. Rounding that to fewer bits is exact.
float rounded_to_odd(double number) {
  auto cut = static_cast<float>(number);
  if (static_cast<double>(cut) == number || !std::isfinite(number)) return cut;
  if (std::fabs(static_cast<double>(cut)) > std::fabs(number)) cut = std::nextafter(cut, 0.0f);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(cut) | 1u);
}

// The nearest T. Nothing for what is no number, and for numbers beyond T: infinity must be typed.
template <typename T>
std::optional<T> parse_floating(std::string_view text) {
  using Read = std::conditional_t<std::is_same_v<T, float>, float, double>;
  text = without_plus(text);
  Read number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ptr != text.data() + text.size() || read.ec == std::errc::invalid_argument) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    const double about = std::strtod(std::string(text).c_str(), nullptr);
    if (std::fabs(about) >= 1) return std::nullopt;
    number = static_cast<Read>(about);  // next to zero
  }
  if constexpr (std::is_same_v<T, Read>) {
    return number;
  } else {
    const T rounded(rounded_to_odd(number));
    const bool overflowed = std::isinf(static_cast<float>(rounded)) && !std::isinf(number);
    return overflowed ? std::nullopt : std::optional(rounded);
  }
}

// "1+2j" as Python writes it, "(1,2)" as argosy prints it, "2j" and "1".
template <typename T>
std::optional<std::complex<T>> parse_complex(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::string_view real = text, imaginary = "0";
  if (const std::size_t comma = text.find(','); comma != std::string_view::npos) {
    real = text.substr(0, comma);
    imaginary = text.substr(comma + 1);
  } else if (text.ends_with('j')) {
    text.remove_suffix(1);
    std::size_t sign = text.find_last_of("+-");
    while (sign != std::string_view::npos && sign > 0 && (text[sign - 1] == 'e' || text[sign - 1] == 'E')) {
      sign = text.find_last_of("+-", sign - 1);
    }
    const bool both = sign != std::string_view::npos && sign > 0;
    real = both ? text.substr(0, sign) : "0";
    imaginary = both ? text.substr(sign) : text;
  }
  const auto re = parse_floating<T>(real), im = parse_floating<T>(imaginary);
  if (!re || !im) return std::nullopt;
  return std::complex<T>(*re, *im);
}

// One number of the dtype from its text.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  if constexpr (std::is_integral_v<T>) {
    return parse_integer<T>(text);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return parse_complex<typename T::value_type>(text);
  } else {
    return parse_floating<T>(text);
  }
}

// Which numbers there are, in words.
template <typename T>
std::string range_text() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    return str_cat("a whole number from ", std::to_string(Limits::min()), " to ", std::to_string(Limits::max()));
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return str_cat("1+2j, 2j or 1, each part ", range_text<typename T::value_type>());
  } else if constexpr (std::is_same_v<T, double>) {
    return str_cat("a number up to ", Limits::max(), " either side of 0, inf, -inf or nan");
  } else {
    return str_cat("a number up to ", static_cast<float>(Limits::max()), " either side of 0, inf, -inf or nan");
  }
}

// A scalar as written on the command line.
Result<Tensor> scalar_of(std::string_view feed, const std::string& text, DType dtype) {
  const auto refused = [&](const std::string& range) {
    return wrong_feed(feed, "\"", text, "\" is neither a .npy file nor a value of ", dtype_name(dtype), ": ", range);
  };
  if (dtype == DType::kString) return Tensor::scalar(text);
  if (dtype == DType::kBool) {
    if (text != "true" && text != "false" && text != "1" && text != "0") return refused("true, false, 1 or 0");
    return Tensor::scalar(text == "true" || text == "1");
  }
  Tensor value;
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(storage_dtype(dtype), "--feed", [&]<typename T>() -> Status {
    const std::optional<T> number = parse_number<T>(text);
    if (!number) return refused(range_text<T>());
    value = Tensor::scalar(*number);
    return ok_status();
  }));
  return relabelled(value, dtype);
}

Result<Tensor> file_of(const std::string& name, const std::string& path, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, data::read_npy(path));
  if (tensor.dtype() == storage_dtype(dtype)) return relabelled(tensor, dtype);
  Status status = invalid_argument("--feed ", name, ": the file holds ", dtype_name(tensor.dtype()),
                                   ", the graph wants ", dtype_name(dtype))
                      .with_id("ARG-FEED-001");
  if (!is_plain(dtype)) return status;
  return std::move(status).with_hint(
      str_cat("in Python: numpy.save('", path, "', array.astype(", numpy_name(dtype), "))"));
}

}  // namespace

Result<Feeds> read_feeds(GraphSource& source, const std::vector<std::string>& words) {
  Feeds feeds;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return wrong_feed(word, "wants NAME=FILE.npy");
    const std::string name = word.substr(0, equals), from = word.substr(equals + 1);
    ARGOSY_ASSIGN_OR_RETURN(const Value value, source.value_to_feed(name));
    if (value.index() == Value::kControl) return wrong_feed(word, "\"", name, "\" has no output to feed");
    Result<Tensor> tensor =
        from.ends_with(".npy") ? file_of(name, from, value.dtype()) : scalar_of(word, from, value.dtype());
    if (!tensor.ok()) return std::move(tensor).status().with_where(str_cat("--feed ", word));
    // A step that only gives back what it is fed does not look.
    if (!value.shape().compatible(tensor->shape())) {
      return invalid_argument("Cannot feed a value of shape ", tensor->shape(), " for '", value.name(),
                              "', which has shape ", value.shape())
          .with_id("ARG-FEED-002")
          .with_where(str_cat("--feed ", word));
    }
    feeds.emplace_back(value, *std::move(tensor));
  }
  return feeds;
}

}  // namespace argosy::cli
