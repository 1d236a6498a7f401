#include "tools/argosy/graph/graph_values.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string_view>

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;

ordered_json number_json(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    const unsigned first = byte(i), second = byte(i + 1);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (bytes == 0) return false;
    for (std::size_t k = 1; k < bytes; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    // Too long for what they say, halves of a pair, and beyond the last character.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return false;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return false;
    i += bytes;
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(bytes.size() - i, 3);
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

template <typename T>
ordered_json value_json(const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    return is_utf8(v) ? ordered_json(v) : ordered_json{{"b64", base64(v)}};
  } else if constexpr (std::is_integral_v<T>) {
    return v;
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return ordered_json::array({number_json(v.real()), number_json(v.imag())});
  } else if constexpr (std::is_same_v<T, double>) {
    return number_json(v);
  } else {
    return number_json(static_cast<float>(v));
  }
}

}  // namespace

DType storage_dtype(DType dtype) {
  switch (dtype) {
    case DType::kQint8: return DType::kInt8;
    case DType::kQuint8: return DType::kUint8;
    case DType::kQint16: return DType::kInt16;
    case DType::kQuint16: return DType::kUint16;
    case DType::kQint32: return DType::kInt32;
    default: return dtype;
  }
}

Result<Tensor> relabelled(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  ARGOSY_CHECK(storage_dtype(tensor.dtype()) == dtype || tensor.dtype() == storage_dtype(dtype));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor same, Tensor::allocate(dtype, tensor.shape(), host_allocator()));
  if (tensor.bytes() > 0) std::memcpy(same.raw(), tensor.raw(), tensor.bytes());
  return same;
}

ordered_json values_json(const Tensor& tensor, std::int64_t limit) {
  ordered_json values = ordered_json::array();
  const Result<Tensor> stored = relabelled(tensor, storage_dtype(tensor.dtype()));
  if (!stored.ok()) return values;
  const std::int64_t shown = std::min(stored->elements(), limit);
  const auto add = [&]<typename T>() {
    for (std::int64_t i = 0; i < shown; ++i) values.push_back(value_json<T>(stored->data<T>()[i]));
    return ok_status();
  };
  if (stored->dtype() == DType::kString) {
    (void)add.operator()<std::string>();
  } else if (stored->dtype() == DType::kBool) {
    (void)add.operator()<bool>();
  } else {
    (void)dispatch<NumberTypes>(stored->dtype(), "json", add);  // all but resources and variants
  }
  return values;
}

Result<std::string> values_text(const Tensor& tensor, int limit) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor stored, relabelled(tensor, storage_dtype(tensor.dtype())));
  const std::string text = stored.to_string(limit);
  return str_cat(dtype_name(tensor.dtype()), text.substr(dtype_name(stored.dtype()).size()));
}

}  // namespace argosy::cli
