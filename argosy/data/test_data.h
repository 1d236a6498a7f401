// For tests: small files in foreign formats, and batches to fill.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/data/dataset.h"

namespace argosy::data {

inline std::string idx_file(int type, std::initializer_list<std::uint32_t> sizes, std::string_view content) {
  std::string bytes = {'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes.append(content);
}

inline std::vector<Tensor> batch_for(const Dataset& dataset, std::int64_t examples) {
  std::vector<Tensor> batch;
  for (const Component& c : dataset.components())
    batch.push_back(Tensor::zeros(c.dtype, c.shape.inserted(0, examples)));
  return batch;
}

}  // namespace argosy::data
