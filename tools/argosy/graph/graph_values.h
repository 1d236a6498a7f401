// Tensors as `argosy graph run` writes them: in JSON, as text, as .npy files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::cli {

// The integers that a quantised dtype is stored as; any other dtype itself.
DType storage_dtype(DType dtype);
// The same bytes as another dtype. REQUIRES: storage_dtype() of one is the other, or they are equal.
Result<Tensor> relabelled(const Tensor& tensor, DType dtype);

// The first `limit` values, as they are: complex numbers as [re, im]; "inf", "-inf" and "nan" as strings, for JSON has
// no such numbers; strings that are no UTF-8 as {"b64": "…"}. A resource or variant has no values.
nlohmann::ordered_json values_json(const Tensor& tensor, std::int64_t limit);

// "quint8[3] {0, 128, 255}"
Result<std::string> values_text(const Tensor& tensor, int limit);

}  // namespace argosy::cli
