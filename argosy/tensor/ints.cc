#include "argosy/tensor/ints.h"

#include <limits>

namespace argosy {

Result<Ints> read_ints(const Tensor& t, std::string_view what) {
  if (t.shape().rank() > 1) return invalid_argument(what, " must be a scalar or a vector, not of shape ", t.shape());
  if (t.elements() > std::numeric_limits<int>::max()) {
    return invalid_argument(what, " has ", t.elements(), " numbers, which is too many");
  }
  const int n = static_cast<int>(t.elements());
  Ints numbers = Ints::filled(n, 0);
  switch (t.dtype()) {
    case DType::kInt32: std::copy_n(t.raw_as<std::int32_t>(), n, numbers.begin()); break;
    case DType::kInt64: std::copy_n(t.raw_as<std::int64_t>(), n, numbers.begin()); break;
    case DType::kInt16: std::copy_n(t.raw_as<std::int16_t>(), n, numbers.begin()); break;
    case DType::kInt8: std::copy_n(t.raw_as<std::int8_t>(), n, numbers.begin()); break;
    default: return invalid_argument(what, " must hold signed integers, not ", dtype_name(t.dtype()));
  }
  return numbers;
}

Result<std::int64_t> read_int(const Tensor& t, std::string_view what) {
  if (t.elements() != 1) return invalid_argument(what, " must be one number, not of shape ", t.shape());
  switch (t.dtype()) {
    case DType::kInt32: return std::int64_t{*t.raw_as<std::int32_t>()};
    case DType::kInt64: return *t.raw_as<std::int64_t>();
    case DType::kInt16: return std::int64_t{*t.raw_as<std::int16_t>()};
    case DType::kInt8: return std::int64_t{*t.raw_as<std::int8_t>()};
    default: return invalid_argument(what, " must be a signed integer, not ", dtype_name(t.dtype()));
  }
}

Ints row_major(std::span<const std::int64_t> sizes) {
  const int rank = static_cast<int>(sizes.size());
  Ints strides = Ints::filled(rank, 1);
  for (int i = rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * sizes[static_cast<std::size_t>(i) + 1];
  return strides;
}

}  // namespace argosy
