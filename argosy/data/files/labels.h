// Converts labels from the bytes of a file to an int32 tensor. Internal to argosy/data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

struct Labels {
  Tensor values;    // int32[n]
  int classes = 0;  // one more than the largest label
};

inline Labels labels_from_bytes(std::span<const std::uint8_t> bytes) {
  Labels labels{Tensor::zeros(DType::kInt32, {static_cast<std::int64_t>(bytes.size())})};
  std::copy(bytes.begin(), bytes.end(), labels.values.data<std::int32_t>());
  for (const std::uint8_t b : bytes) labels.classes = std::max(labels.classes, b + 1);
  return labels;
}

}  // namespace argosy::data
